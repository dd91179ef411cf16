"""Contract tests of placers: inherit `PlacerContract` and define a `plugin` fixture.

class TestMine(PlacerContract):
    @pytest.fixture
    def plugin(self) -> Plugin:
        return registry.load("placers", "mine")
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from math import inf, isfinite

import numpy as np
import pytest

from ovplace.core.measurement import Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.plugins.protocols import Placer, Trainer
from ovplace.plugins.registry import Plugin
from ovplace.testing.child import in_another_process
from ovplace.testing.contracts.plugin import PluginContract
from ovplace.testing.graphs import chain, diamond, layered, problem, trial_of

ROUNDS = 25
"""Number of asks of a check, enough to leave the systematic part of a search."""

Answer = Callable[[Placement], float]


def problems() -> dict[str, Problem]:
    """Return the problems that a placer must handle, by name."""
    middle = layered(24, seed=1)
    some = np.ones((24, 3), dtype=bool)
    some[::3, 0] = some[1::4, 2] = False
    return {
        "one group": problem(chain(("Add", "Relu", "Sin")), partition=Partition(np.zeros(3, dtype=np.int64))),
        "one device": problem(diamond(), n_devices=1),
        "one operation": problem(chain(("Relu",)), n_devices=3),
        "diamond": problem(diamond()),
        "groups of two": problem(middle, partition=Partition.from_labels(middle.rank // 2)),
        "groups in a circle": problem(chain(("Add", "Sin") * 4), partition=Partition(np.arange(8) % 4)),
        "unsupported": problem(middle, n_devices=3, supported=some),
        "many devices": problem(layered(24, seed=2), n_devices=5),
    }


def by_hash(placement: Placement) -> float:
    """Return a pseudorandom ratio between 0.5 and 1.5, the same in every process."""
    return 0.5 + int(placement.hash[:8], 16) / 2**32


def some_fail(placement: Placement) -> float:
    """Return the ratio of `by_hash`, infinite (a failure) for every third placement."""
    return inf if int(placement.hash[8:10], 16) % 3 == 0 else by_hash(placement)


def all_fail(placement: Placement) -> float:
    """Return an infinite ratio (a failure)."""
    return inf


def build_placer(plugin: Plugin, of: Problem) -> Placer:
    """Return a placer with default settings.

    Args:
        plugin: the placer.
        of: the problem to place.
    """
    placer: Placer = plugin.factory(of, plugin.Config())
    return placer


def answered(asked: Sequence[Placement], answer: Answer) -> list[Trial]:
    """Return a trial for each placement.

    Args:
        asked: the placements of one `ask`.
        answer: latency ratio of a placement, infinite for a failure.
    """
    return [trial_of(number, placement, answer(placement)) for number, placement in enumerate(asked)]


def advance(placer: Placer, rounds: int, batch: int = 1, answer: Answer = by_hash) -> list[Placement]:
    """Play some rounds and return all placements asked for; stop when there are none.

    Args:
        placer: the search.
        rounds: maximum number of asks.
        batch: number of placements asked for at a time.
        answer: latency ratio of a placement, infinite for a failure.
    """
    found: list[Placement] = []
    for _ in range(rounds):
        asked = placer.ask(batch)
        assert len(asked) <= batch, f"asked {batch} placements, got {len(asked)}"
        if not asked:
            break
        found += asked
        placer.tell(answered(asked, answer))
    return found


def hashes(module: str) -> list[str]:
    """Return the hashes of the placements that the placer in `module` asks for; also run in another process."""
    plugin = Plugin("placers", module, importlib.import_module(module))
    return [
        placement.hash for name in ("many devices", "diamond") for placement in advance(_fresh(plugin, name), ROUNDS)
    ]


def _fresh(plugin: Plugin, name: str) -> Placer:
    return build_placer(plugin, problems()[name])


def _check(placement: Placement, of: Problem) -> None:
    assert placement.devices == of.device_names, "a placement names the devices of the problem, in their order"
    assert placement.device_of.shape == (len(of.graph),), "a placement has a device for every operation"
    for group, members in enumerate(of.partition.members):
        chosen = np.unique(placement.device_of[members])
        assert len(chosen) == 1, f"group {group} is torn apart"
        assert of.allowed[group, chosen[0]], f"group {group} is on a device that cannot run it"


class PlacerContract(PluginContract):
    """Checks a placer on small problems; a subclass defines the fixture `plugin`."""

    @pytest.mark.parametrize(("name", "batch"), [*zip(problems(), (1, 4) * 4, strict=True), ("many devices", 1)])
    def test_placements_are_valid(self, plugin: Plugin, name: str, batch: int) -> None:
        """Placements have the right size, keep groups whole and use only devices that can run each group."""
        of = problems()[name]
        asked = advance(build_placer(plugin, of), ROUNDS, batch)
        assert asked, "a new placer asks something"
        for placement in asked:
            _check(placement, of)

    @pytest.mark.parametrize(
        ("name", "answer"),
        [
            ("one group", all_fail),
            ("diamond", some_fail),
            ("unsupported", some_fail),
            ("many devices", some_fail),
            ("many devices", all_fail),
        ],
    )
    def test_failures_are_survived(self, plugin: Plugin, name: str, answer: Answer) -> None:
        """A search goes on after failures."""
        of = problems()[name]
        for placement in advance(build_placer(plugin, of), 2 * ROUNDS, 2, answer):
            _check(placement, of)

    def test_capabilities_are_of_the_declared_types(self, plugin: Plugin) -> None:
        """`needs_costs` answers from the settings; `info` is numbers, `notes` texts; a certificate's bound is sound."""
        assert isinstance(plugin.factory.needs_costs(plugin.Config()), bool)
        placer = _fresh(plugin, "diamond")
        advance(placer, 3)
        assert all(isinstance(name, str) and isfinite(value) for name, value in placer.info.items())
        assert not isinstance(placer.notes, str)
        assert all(isinstance(note, str) for note in placer.notes)
        if certificate := placer.certificate(inf):
            assert certificate.lower_bound_ms <= certificate.value_ms * (1 + 1e-9)

    def test_an_asynchronous_placer_learns_from_any_answer(self, plugin: Plugin) -> None:
        """It asks for nothing that is open, is told the last first, and goes on from a state with open placements."""
        placer, open_ = _fresh(plugin, "many devices"), dict[str, Placement]()
        for number in range(ROUNDS if placer.asynchronous else 0):
            asked = {placement.hash: placement for placement in placer.ask(2)}
            assert not asked.keys() & open_.keys(), "it asks for what is open"
            open_ |= asked
            if number == ROUNDS // 2:
                other = _fresh(plugin, "many devices")
                other.restore(json.loads(json.dumps(placer.state())))
                found = [_last_first(resumed, dict(open_)) for resumed in (placer, other)]
                assert found[0] == found[1], "a restored one goes on otherwise"
                return
            while len(open_) > 3:
                _, last = open_.popitem()
                placer.tell(answered([last], some_fail))

    def test_an_asynchronous_placer_does_not_wait(self, plugin: Plugin) -> None:
        """However late one answer is, it asks for more; where it does not, it has nothing more to ask for."""
        placer = _fresh(plugin, "many devices")
        if not placer.asynchronous:
            return
        late, *asked = placer.ask(4)
        for _ in range(ROUNDS // 2):
            placer.tell(answered(asked, by_hash))
            asked = list(placer.ask(3))
            if not asked:
                placer.tell(answered([late], by_hash))
                assert not placer.ask(1), "it waits for the last answer"
                return

    def test_a_trainer_inherits_its_role(self, plugin: Plugin) -> None:
        """A module's `Trainer`, if there is one, inherits `protocols.Trainer`."""
        assert plugin.trainer is None or issubclass(plugin.trainer, Trainer)

    def test_nothing_asked_nothing_answered(self, plugin: Plugin) -> None:
        """`ask(0)` is empty and changes nothing."""
        placer = _fresh(plugin, "diamond")
        assert not placer.ask(0)
        placer.tell([])
        assert _hashes(advance(placer, 5)) == _hashes(advance(_fresh(plugin, "diamond"), 5))

    def test_the_end_is_the_end(self, plugin: Plugin) -> None:
        """After an empty answer, nothing is asked for again."""
        placer = _fresh(plugin, "one operation")
        if len(advance(placer, ROUNDS)) < ROUNDS:
            assert not placer.ask(1), "asked nothing, then something"

    def test_same_seed_same_placements(self, plugin: Plugin) -> None:
        """Two placers of one problem ask for the same placements."""
        first, second = (_hashes(advance(_fresh(plugin, "many devices"), ROUNDS)) for _ in range(2))
        assert first == second

    def test_same_placements_in_another_process(self, plugin: Plugin) -> None:
        """No decision depends on the order of a set of strings."""
        here = hashes(plugin.module.__name__)
        assert here == in_another_process(__name__, "hashes", plugin.module.__name__)

    @pytest.mark.parametrize(("rounds", "batch"), [(0, 3), (1, 1), (7, 3), (20, 1)])
    def test_resumed_equals_uninterrupted(self, plugin: Plugin, rounds: int, batch: int) -> None:
        """A placer restored from a state in JSON asks for the same placements."""
        placer, other = (_fresh(plugin, "many devices") for _ in range(2))
        advance(placer, rounds, batch)
        saved = json.dumps(placer.state())
        rest = _hashes(advance(placer, ROUNDS, batch))
        other.restore(json.loads(saved))
        assert _hashes(advance(other, ROUNDS, batch)) == rest

    @pytest.mark.parametrize("rounds", [0, 1, 12])
    def test_resumed_between_ask_and_tell(self, plugin: Plugin, rounds: int) -> None:
        """A placer can be restored between `ask` and `tell`."""
        placer, other = (_fresh(plugin, "many devices") for _ in range(2))
        advance(placer, rounds, 2)
        asked = placer.ask(2)
        other.restore(json.loads(json.dumps(placer.state())))
        for resumed in (placer, other):
            resumed.tell(answered(asked, by_hash))
        assert _hashes(advance(other, ROUNDS)) == _hashes(advance(placer, ROUNDS))

    def test_state_is_a_snapshot(self, plugin: Plugin) -> None:
        """A state changes neither with its placer nor with another placer restored from it."""
        placer, other = (_fresh(plugin, "many devices") for _ in range(2))
        advance(placer, 12)
        state = placer.state()
        saved = json.dumps(state)
        advance(placer, 8)
        assert json.dumps(state) == saved, "the state changed under its owner"
        other.restore(state)
        advance(other, 8)
        assert json.dumps(state) == saved, "the state changed under the placer that was restored from it"


def _hashes(placements: Sequence[Placement]) -> list[str]:
    return [placement.hash for placement in placements]


def _last_first(placer: Placer, open_: dict[str, Placement]) -> list[str]:
    """Return the hashes of what is asked while each answer is the last to arrive."""
    found = []
    for _ in range(ROUNDS // 4):
        while len(open_) > 3:
            _, last = open_.popitem()
            placer.tell(answered([last], some_fail))
        asked = placer.ask(2)
        open_ |= {placement.hash: placement for placement in asked}
        found += _hashes(asked)
    return found
