"""The contract sees red: the fake passes each check, and one defect makes its check fail."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from ovplace.core.measurement import Measurement
from ovplace.plugins.registry import Plugin
from ovplace.testing import fake_backend
from ovplace.testing.contracts.backend import BackendContract
from ovplace.testing.sessions import job

Sound = fake_backend.Backend


class Silent(Sound):
    @classmethod
    def available(cls):
        return None


class CountsDigests(Sound):
    asked = count()

    @classmethod
    def digest(cls, config):
        return str(next(cls.asked))


class GuessesCosts(Sound):
    knows_costs = True

    def costs(self, partition):
        return SimpleNamespace(group_ms=np.zeros((1, 1)))


class CountsFacts(Sound):
    asked = 0

    def facts(self):
        self.asked += 1
        return {"n": str(self.asked)}


class Transposed(Sound):
    def supported(self):
        return super().supported().T


class Backwards(Sound):
    def measure(self, candidates, spec):
        return super().measure(candidates, spec)[::-1]


class OneBlock(Sound):
    def measure(self, candidates, spec):
        return [
            Measurement((1.0,), (1,), submodels=m.submodels) if m.ok else m for m in super().measure(candidates, spec)
        ]


class Numpy(Sound):
    def measure(self, candidates, spec):
        return [
            Measurement(tuple(np.float32(m.samples_ms)), m.blocks, submodels=m.submodels) if m.ok else m
            for m in super().measure(candidates, spec)
        ]


class Raises(Sound):
    def measure(self, candidates, spec):
        measured = super().measure(candidates, spec)
        if not all(m.ok for m in measured):
            raise RuntimeError("one of them failed")
        return measured


class AllOrNothing(Sound):
    def measure(self, candidates, spec):
        measured = super().measure(candidates, spec)
        return measured if all(m.ok for m in measured) else [m for m in measured if not m.ok][:1] * len(measured)


class IgnoresParts(Sound):
    def measure(self, candidates, spec):
        return super().measure([replace(candidate, part=()) for candidate in candidates], spec)


class Sulks(Sound):
    broken = False

    def measure(self, candidates, spec):
        measured = super().measure(candidates, spec)
        if self.broken:
            return [Measurement.failed("infer", "no more")] * len(measured)
        self.broken = not all(m.ok for m in measured)
        return measured


class NeedsOne(Sound):
    def measure(self, candidates, spec):
        return [candidates[0] and m for m in super().measure(candidates, spec)] or [candidates[0]]


CHECKS = {
    "test_says_whether_it_can_work": Silent,
    "test_what_it_stands_for": CountsDigests,
    "test_costs_where_it_knows_them": GuessesCosts,
    "test_facts_are_text": CountsFacts,
    "test_supported_is_a_table": Transposed,
    "test_one_measurement_a_candidate_in_order": Backwards,
    "test_samples_are_positive_and_in_blocks": OneBlock,
    "test_measurements_travel": Numpy,
    "test_a_bad_candidate_fails_alone": AllOrNothing,
    "test_parts_are_timed_alone": IgnoresParts,
    "test_goes_on_after_a_failure": Sulks,
    "test_no_candidates_no_measurements": NeedsOne,
}


def check(name, kind):
    contract, of = BackendContract(), job()
    backend = kind(of)
    plugin = Plugin("backends", "x", SimpleNamespace(Config=fake_backend.Config, Backend=kind))
    known = {"plugin": plugin, "job": of, "backend": backend}
    method = getattr(contract, name)
    wanted = method.__code__.co_varnames[1 : method.__code__.co_argcount]
    if "singles" in wanted:
        known["singles"] = vars(BackendContract)["singles"].__wrapped__(contract, Sound(of), of)
    method(**{key: known[key] for key in wanted})


@pytest.mark.parametrize("name", [name for name in vars(BackendContract) if name.startswith("test_")])
def test_the_fake_passes(name):
    check(name, Sound)


@pytest.mark.parametrize(("name", "kind"), [*CHECKS.items(), ("test_a_bad_candidate_fails_alone", Raises)])
def test_a_defect_is_seen(name, kind):
    with pytest.raises((AssertionError, RuntimeError, IndexError, TypeError)):
        check(name, kind)
