from __future__ import annotations

from math import exp, inf

import numpy as np
import pytest

from ovplace.plugins import registry
from ovplace.testing.graphs import chain, layered, problem, trial_of

ANNEALING = registry.load("placers", "annealing")


def built(of, **settings):
    return ANNEALING.factory(of, ANNEALING.Config(**settings))


def told(placer, ratio, batch=1):
    """Ask, answer all with one ratio, and return the devices asked, `[K, G]`."""
    asked = placer.ask(batch)
    placer.tell([trial_of(number, placement, ratio) for number, placement in enumerate(asked)])
    return np.array([placement.device_of for placement in asked])


def twelve(n_devices=2):
    return problem(layered(12, seed=1), n_devices)


def test_the_walk_starts_at_the_best_device_and_moves_one_group():
    placer = built(twelve(3))
    for ratio in (1.0, 0.8, 0.9):
        told(placer, ratio)
    asked = told(placer, 2.0, batch=5)
    assert ((asked != 1).sum(axis=1) == 1).all()


def test_a_better_placement_is_where_the_walk_goes_on():
    placer = built(twelve())
    told(placer, 1.0, batch=2)
    (better,) = told(placer, 0.5)
    assert ((told(placer, 2.0, batch=5) != better).sum(axis=1) == 1).all()


def test_without_uniform_the_start_is_random():
    placer = built(twelve(), uniform=False)
    (start,) = told(placer, 1.0)
    assert len(np.unique(start)) == 2
    assert ((told(placer, 2.0, batch=5) != start).sum(axis=1) == 1).all()


def test_groups_stay_where_they_can_run():
    supported = np.ones((12, 3), dtype=bool)
    supported[:6, 1:] = False
    supported[6:, 2] = False
    placer = built(problem(layered(12, seed=1), 3, supported=supported))
    told(placer, 1.0)
    asked = np.concatenate([told(placer, 1.0) for _ in range(30)])
    assert (asked[:, :6] == 0).all()
    assert (asked[:, 6:] < 2).all()


@pytest.mark.parametrize(("worse", "temperature"), [(1.01, 0.01), (1.02, 0.01), (1.01, 0.1)])
def test_worse_placements_are_accepted_as_metropolis_has_it(worse, temperature):
    taken = []
    for seed in range(300):
        placer = built(
            problem(chain(["Add"] * 200), seed=seed),
            initial_temperature=temperature,
            cooling_factor=1 - 1e-9,
            final_temperature=1e-4,
        )
        told(placer, 1.0, batch=2)
        (moved,) = told(placer, worse)
        taken.append((told(placer, inf)[0] != moved).sum() == 1)
    expected = exp(-np.log(worse) / temperature)
    assert np.mean(taken) == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 300) ** 0.5)


def test_a_failure_is_never_accepted():
    placer = built(twelve())
    told(placer, 1.0, batch=2)
    for _ in range(10):
        assert (told(placer, inf)[0] == 1).sum() in (1, 11), "one group away from a device alone"


def test_it_cools_by_plateaus_and_restarts_from_the_best_when_frozen():
    placer = built(
        twelve(), initial_temperature=0.08, cooling_factor=0.5, final_temperature=0.02, steps_per_temperature=2
    )
    told(placer, 1.0, batch=2)
    (best,) = told(placer, 0.5)
    seen = [placer.temperature]
    for _ in range(6):
        told(placer, 0.51)
        seen.append(placer.temperature)
    assert seen == pytest.approx([0.08, 0.04, 0.04, 0.02, 0.02, 0.08, 0.08])
    frozen = built(twelve(), initial_temperature=0.08, cooling_factor=0.5, final_temperature=0.08)
    told(frozen, 1.0, batch=2)
    (best,) = told(frozen, 0.5)
    for _ in range(5):
        assert (told(frozen, 0.5001)[0] != best).sum() == 1, "each answer is followed by a restart"


def test_known_placements_are_passed_without_measuring():
    """Around the best of three groups all is known and bad: the walk leaps over it."""
    placer = built(problem(chain(("Add", "Sin", "Relu"))))
    told(placer, 1.0, batch=2)
    asked = [told(placer, 50.0)[0] for _ in range(6)]
    assert len({tuple(choice) for choice in asked}) == 6
    assert not placer.ask(1)
