"""How long the search and the final comparison are expected to take, told by what the devices took."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.config.schema import ComparisonConfig
from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.search.time_limit import IMPORTING, expected_s
from ovplace.session.baselines import Baseline
from ovplace.testing.sessions import OPS, direct, session


def took(name, latency_ms, placement=True, **rest):
    """Return a baseline that took one second to compile."""
    measured = Measurement((latency_ms,), (1,), compile_ms=900.0, first_ms=100.0, **rest)
    on_one = Placement.uniform(OPS, "CPU_0") if placement else None
    candidate = Candidate(name, on_one) if placement else Candidate(name, target="AUTO:CPU_0")
    return Baseline(candidate, measured, 1.0, placement, on_one)


@pytest.mark.parametrize(("rounds", "starts"), [(6, 5 + 3), (7, 5 + 4)])
def test_the_search_and_the_comparison_take_what_the_devices_took(rounds, starts):
    """A search compiles for two devices and infers four times on each; a round infers on all, less on a slow one.

    The first heats compile each finalist; what comes later imports it.
    """
    spec = MeasureSpec(warmup=0, blocks=1, repeats=1, min_time_ms=0.0, hopeless_ratio=2.5)
    comparison = ComparisonConfig(rounds=rounds, race=15, finalists=3, blocks=3, repeats=1, min_time_ms=0.0)
    of = session(Path(), direct(), spec=spec, comparison=comparison, budget=10)
    of.starting_s = 2.0
    failed = replace(took("CPU_3", 1.0), measurement=Measurement.failed(ErrorKind.CRASH, "gone"))
    baselines = [took("CPU_0", 200.0), took("CPU_1", 500.0), took("CPU_2", 501.0), failed, took("AUTO", 1.0, False)]
    search_s, comparison_s = expected_s(of, baselines)
    assert search_s == pytest.approx(10 * ((1 + 4 * 0.2) + (1 + 4 * 0.5)))
    round_s = 2 * (0.1 + 8 * 0.2) + (0.1 + 8 * 0.5) + (0.1 + 4 * 0.501)
    compilations = 3 + IMPORTING * (starts - 3)
    assert comparison_s == pytest.approx(starts * (2.0 + round_s) + compilations * 4 * 0.9)
    of.config = replace(of.config, measure=replace(spec, blocks=3, repeats=2, min_time_ms=20.0))
    # Two blocks, each after an inference and 5 ms.
    assert expected_s(of, baselines)[0] == pytest.approx(10 * (2 + 2 * 0.005 * 2 + (2 + 2 * 3) * (0.2 + 0.5)))
    of.selection = replace(of.selection, simulated="two-gpus")
    assert expected_s(of, baselines) == (0.0, starts * 2.0)


def test_a_round_is_told_by_the_fastest_device_whichever_is_the_reference():
    of = session(Path(), direct(), spec=MeasureSpec(hopeless_ratio=2.0), budget=10)
    fast, slow = took("CPU_0", 200.0), took("CPU_1", 500.0)
    assert expected_s(of, [slow, fast]) == pytest.approx(expected_s(of, [fast, slow]))


def test_simulated_inferences_are_not_expected_to_take_time():
    of = session(Path(), direct(), budget=50)
    baselines = [took("CPU_0", 200.0), took("CPU_1", 500.0)]
    assert min(expected_s(of, baselines)) > 0
    of.selection = replace(of.selection, simulated="two-gpus")
    assert expected_s(of, baselines) == (0.0, 0.0)
