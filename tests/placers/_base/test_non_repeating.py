from __future__ import annotations

import json
from math import inf

import numpy as np
import pytest

from ovplace.placers._base.choices import random_choice
from ovplace.placers._base.generational import GenerationalPlacer
from ovplace.placers._base.non_repeating import NonRepeatingPlacer
from ovplace.testing.graphs import chain, problem, trial_of


class Follower(NonRepeatingPlacer):
    """Proposes random neighbours of the best choice, and notes what it hears."""

    NAME = "follower"

    def __init__(self, of):
        super().__init__(of)
        self.heard = []

    def _candidates(self, number):
        rng = self._rng(number)
        best = min(self.heard, key=lambda pair: pair[1])[0] if self.heard else np.zeros(6, dtype=np.int64)
        for _ in range(10):
            yield np.where(rng.random(6) < 0.3, 1 - best, best)

    def _update(self, number, choice, ratio):
        self.heard.append((choice, ratio))


class Breeder(GenerationalPlacer):
    """Has generations of 5, then of 3."""

    def __init__(self, of):
        super().__init__(of)
        self.bred = []

    def _generation_size(self):
        return 3 if self.bred else 5

    def _candidates(self, number):
        yield random_choice(self._problem.allowed, self._rng(number))

    def _finish_generation(self, numbers, choices, ratios):
        self.bred.append((numbers, choices, ratios))


def six():
    return problem(chain(("Add", "Sin") * 3))


def answers(asked, ratio=None):
    return [trial_of(i, p, ratio or 1 + p.device_of @ np.arange(6.0)) for i, p in enumerate(asked)]


def test_the_state_is_what_was_told_and_how_many_are_open():
    placer = Follower(six())
    placer.tell(answers(placer.ask(2), 0.5))
    placer.tell(answers(placer.ask(1), inf))
    placer.ask(3)
    assert json.loads(json.dumps(placer.state(), allow_nan=False)) == {"answers": [[0.5, 0.5], [None]], "open": 3}


def test_a_restored_placer_has_heard_the_same():
    placer, other = Follower(six()), Follower(six())
    for batch in (1, 3, 2, 1):
        placer.tell(answers(placer.ask(batch), inf if batch == 2 else None))
    other.restore(placer.state())
    assert [(choice.tolist(), ratio) for choice, ratio in other.heard] == [
        (choice.tolist(), ratio) for choice, ratio in placer.heard
    ]
    assert [p.hash for p in other.ask(4)] == [p.hash for p in placer.ask(4)]


def test_only_a_new_placer_is_restored():
    placer = Follower(six())
    state = placer.state()
    placer.ask(1)
    with pytest.raises(ValueError, match="only a new placer"):
        placer.restore(state)


def test_asking_for_nothing_leaves_what_is_open():
    placer = Follower(six())
    asked = placer.ask(2)
    assert not placer.ask(0)
    placer.tell(answers(asked))
    assert len(placer.heard) == 2


def test_a_generation_is_answered_before_the_next_is_asked():
    placer = Breeder(six())
    asked = placer.ask(3)
    placer.tell(answers(asked))
    rest = placer.ask(10)
    assert len(rest) == 2
    assert not placer.bred
    placer.tell(answers(rest))
    numbers, choices, ratios = placer.bred[0]
    assert numbers == (0, 1, 2, 3, 4)
    assert choices.tolist() == [p.device_of.tolist() for p in (*asked, *rest)]
    assert ratios.tolist() == [trial.ratio for trial in answers([*asked, *rest])]
    assert len(placer.ask(10)) == 3


def test_what_is_asked_beyond_a_generation_is_part_of_the_next():
    placer = Breeder(six())
    asked = placer.ask(10)
    early = placer.ask(1)
    assert (len(asked), len(early)) == (5, 1)
    placer.tell(answers(asked))
    placer.tell(answers(early))
    assert [len(numbers) for numbers, *_ in placer.bred] == [5]
    placer.tell(answers(placer.ask(10)))
    assert [numbers for numbers, *_ in placer.bred] == [(0, 1, 2, 3, 4), (5, 6, 7)]
