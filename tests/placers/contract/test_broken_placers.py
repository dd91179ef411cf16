"""The contract sees red: a sound placer passes each check, and one defect makes its check fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ovplace.core.placement import Placement
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.contracts import placer as placer_contract
from ovplace.testing.contracts.placer import PlacerContract, all_fail
from tests.broken_plugins import as_plugin, written_plugin


class Sound:
    """Draws placements until 30 were answered, and adds the ratios up."""

    asynchronous = True

    def __init__(self, problem, config):
        self.problem = problem
        self.rng = generator(problem.seed, "placer", "sound")
        self.memory: dict[str, Any] = {"left": 30, "ratios": []}

    def ask(self, n):
        return [self.draw() for _ in range(min(n, self.memory["left"]))]

    def draw(self):
        shift = round(sum(self.memory["ratios"][-3:], 0.0)) if np.isfinite(self.memory["ratios"]).all() else 0
        choice = self.rng.integers(len(self.problem.devices), size=self.problem.n_groups)
        return self.placement((choice + shift) % len(self.problem.devices))

    def placement(self, choice):
        return self.problem.lift(choice)

    def tell(self, trials):
        self.memory["left"] -= len(trials)
        self.memory["ratios"] += [trial.ratio for trial in trials]

    def state(self):
        return {"rng": self.rng.bit_generator.state, **self.memory, "ratios": list(self.memory["ratios"])}

    def restore(self, state):
        self.rng.bit_generator.state = state["rng"]
        self.memory = {"left": state["left"], "ratios": list(state["ratios"])}


class ForeignDevices(Sound):
    def placement(self, choice):
        return Placement(super().placement(choice).device_of, self.problem.device_names[::-1])


class TooShort(Sound):
    def placement(self, choice):
        return Placement(super().placement(choice).device_of[1:], self.problem.device_names)


class TearsGroups(Sound):
    def placement(self, choice):
        return Placement(np.arange(len(self.problem.graph)) % 2, self.problem.device_names)


class IgnoresSupport(Sound):
    def placement(self, choice):
        return self.problem.partition.lift(choice, self.problem.device_names)


class AsksTooMuch(Sound):
    def ask(self, n):
        return super().ask(n + 1)


class AsksNothing(Sound):
    def ask(self, n):
        return []


class FailsOnFailures(Sound):
    def tell(self, trials):
        super().tell(trials)
        assert all(trial.measurement.ok for trial in trials)


class DrawsForNothing(Sound):
    def ask(self, n):
        return super().ask(max(n, 1))[:n]


class ComesBack(Sound):
    def ask(self, n):
        asked = super().ask(n)
        self.memory["left"] = self.memory["left"] if asked else 1
        return asked

    def tell(self, trials):
        super().tell(trials)
        self.memory["left"] = 0


class Unseeded(Sound):
    def __init__(self, problem, config):
        super().__init__(problem, config)
        self.rng = np.random.default_rng()


class ForgetsItsStream(Sound):
    def restore(self, state):
        self.memory = {"left": state["left"], "ratios": list(state["ratios"])}


class ForgetsAnswers(Sound):
    def restore(self, state):
        super().restore(state)
        self.memory["ratios"] = []


class ForgetsWhatIsAsked(Sound):
    waiting = 0

    def ask(self, n):
        asked = super().ask(n)
        self.waiting = len(asked)
        return asked

    def tell(self, trials):
        super().tell(trials[: self.waiting])


class SharesItsState(Sound):
    def state(self):
        return {**super().state(), "ratios": self.memory["ratios"]}


class SharesWhatItRestored(Sound):
    def restore(self, state):
        super().restore(state)
        self.memory["ratios"] = state["ratios"]


class AsksForWhatIsOpen(Sound):
    def draw(self):
        return self.placement(np.zeros(self.problem.n_groups, dtype=np.int64))


class WaitsForEveryAnswer(Sound):
    missing = 0

    def ask(self, n):
        asked = [] if self.missing else super().ask(n)
        self.missing += len(asked)
        return asked

    def tell(self, trials):
        super().tell(trials)
        self.missing -= len(trials)


CHECKS = {
    "valid": lambda plugin: [
        PlacerContract().test_placements_are_valid(plugin, name, 2) for name in placer_contract.problems()
    ],
    "failures": lambda plugin: PlacerContract().test_failures_are_survived(plugin, "diamond", all_fail),
    "open": lambda plugin: PlacerContract().test_an_asynchronous_placer_learns_from_any_answer(plugin),
    "late": lambda plugin: PlacerContract().test_an_asynchronous_placer_does_not_wait(plugin),
    "nothing": lambda plugin: PlacerContract().test_nothing_asked_nothing_answered(plugin),
    "end": lambda plugin: PlacerContract().test_the_end_is_the_end(plugin),
    "seed": lambda plugin: PlacerContract().test_same_seed_same_placements(plugin),
    "resumed": lambda plugin: PlacerContract().test_resumed_equals_uninterrupted(plugin, 7, 1),
    "pending": lambda plugin: PlacerContract().test_resumed_between_ask_and_tell(plugin, 12),
    "snapshot": lambda plugin: PlacerContract().test_state_is_a_snapshot(plugin),
}


@pytest.mark.parametrize("check", CHECKS)
def test_a_sound_placer_passes(check):
    CHECKS[check](as_plugin("placers", Placer=Sound))


@pytest.mark.parametrize(
    ("check", "placer"),
    [
        ("valid", ForeignDevices),
        ("valid", TooShort),
        ("valid", TearsGroups),
        ("valid", IgnoresSupport),
        ("valid", AsksTooMuch),
        ("valid", AsksNothing),
        ("failures", FailsOnFailures),
        ("open", AsksForWhatIsOpen),
        ("open", ForgetsItsStream),
        ("late", WaitsForEveryAnswer),
        ("nothing", DrawsForNothing),
        ("end", ComesBack),
        ("seed", Unseeded),
        ("resumed", ForgetsItsStream),
        ("resumed", ForgetsAnswers),
        ("pending", ForgetsWhatIsAsked),
        ("snapshot", SharesItsState),
        ("snapshot", SharesWhatItRestored),
    ],
)
def test_a_defect_is_seen(check, placer):
    with pytest.raises(AssertionError):
        CHECKS[check](as_plugin("placers", Placer=placer))


def test_notes_that_are_one_text_are_seen(monkeypatch):
    plugin = registry.load("placers", "random")
    PlacerContract().test_capabilities_are_of_the_declared_types(plugin)
    monkeypatch.setattr(plugin.factory, "notes", "all of it")
    with pytest.raises(AssertionError):
        PlacerContract().test_capabilities_are_of_the_declared_types(plugin)


HASH_ORDER = """
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Config: pass

class Placer:
    def __init__(self, problem, config):
        self.problem = problem
        self.rng = np.random.default_rng(abs(hash("a string")))
    def ask(self, n):
        size = self.problem.n_groups
        return [self.problem.lift(self.rng.integers(len(self.problem.devices), size=size)) for _ in range(n)]
    def tell(self, trials): pass
"""


def test_a_dependence_on_string_hashes_is_seen(tmp_path, monkeypatch):
    with written_plugin("placers", HASH_ORDER, tmp_path, monkeypatch) as plugin:
        PlacerContract().test_same_seed_same_placements(plugin)
        with pytest.raises(AssertionError):
            PlacerContract().test_same_placements_in_another_process(plugin)
