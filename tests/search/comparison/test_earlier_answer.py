"""The answer of an earlier call against the finalists of a later one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ovplace.config.schema import ComparisonConfig
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.search.comparison import final_comparison
from ovplace.search.comparison.final_comparison import decide
from ovplace.search.comparison.judgement import hardest_to_beat
from ovplace.session.baselines import measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import OPS, DirectPool, session

NAMES = ("CPU_0", "CPU_1")


def split(number):
    return Placement((np.arange(OPS) > number).astype(int), NAMES)


def decided(truth, ratios, earlier_answer):
    """Return the outcome where placements have known latencies, over 10 ms of the best device."""

    def measure(candidates, spec):
        return [one(candidate.placement) for candidate in candidates]

    def one(placement):
        known = {split(i).hash: 10.0 * ratio for i, ratio in enumerate(truth)}
        latency_ms = known.get(placement.hash, 10.0) if placement else 20.0
        return Measurement((latency_ms,) * 9, (3, 3, 3))

    comparison = ComparisonConfig(race=0, rounds=3, blocks=3)
    store = RunStore(Path(":memory:"))
    measurer = Measurer(session(Path(), DirectPool(measure), comparison=comparison), store)
    trials = [Trial(i, split(i), Measurement((10.0 * ratio,), (1,)), ratio, "test") for i, ratio in enumerate(ratios)]
    baselines = measure_baselines(measurer, measurer.session.config.measure, silent)
    found = decide(measurer, baselines, trials, silent, earlier_answer=earlier_answer)
    store.close()
    return found


def test_the_earlier_answer_stays_where_it_is_faster_than_what_looks_better_now():
    truth, lucky = (0.7, 0.9, 0.95), (0.8, 0.6, 0.75)  # the second looks best, and is not
    assert decided(truth, lucky, earlier_answer="").placement.hash == split(1).hash
    found = decided(truth, lucky, earlier_answer=split(0).hash)
    assert found.placement.hash == split(0).hash
    assert found.verdict.ratio.value == pytest.approx(0.7)


def test_the_earlier_answer_goes_where_a_faster_one_was_found():
    found = decided((0.9, 0.7), (0.9, 0.7), earlier_answer=split(0).hash)
    assert found.placement.hash == split(1).hash


def test_the_better_of_two_answers_is_judged_at_a_higher_level(monkeypatch):
    levels = list[float]()

    def judged(rounds, name, close, level):
        levels.append(level)
        return hardest_to_beat(rounds, name, close, level)

    monkeypatch.setattr(final_comparison, "hardest_to_beat", judged)
    for earlier_answer in ("", split(0).hash):
        decided((0.9, 0.7), (0.9, 0.7), earlier_answer)
    assert levels == pytest.approx([0.98, 0.99])
