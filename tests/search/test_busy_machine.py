"""A search on a busy machine is told from one on a quiet machine by the latencies of its reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.measurement import MACHINE, ErrorKind, Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.search.busy_machine import busy_notes

PLACEMENT = Placement.uniform(3, "CPU", ("CPU",))


def trials(reference_ms, latency_ms=4.0):
    measured = Measurement(samples_ms=(latency_ms,), blocks=(1,))
    return [Trial(i, PLACEMENT, measured, latency_ms / ms, "min_cut", False) for i, ms in enumerate(reference_ms)]


def test_a_quiet_machine_is_not_mentioned():
    assert busy_notes("CPU", trials(np.linspace(6.5, 8.5, 20))) == ()


def test_quiet_machines_of_other_speeds_are_not_mentioned():
    found = [
        replace(trial, measurement=replace(trial.measurement, facts={MACHINE: f"m{trial.number % 2}"}))
        for trial in trials([7.0, 17.0] * 10)
    ]
    assert busy_notes("CPU", found) == ()
    assert busy_notes("CPU", trials([7.0, 17.0] * 10)) != ()


def test_single_interruptions_are_not_mentioned():
    assert busy_notes("CPU", trials([7.0] * 19 + [70.0])) == ()


def test_a_busy_machine_is_named_with_the_latencies_of_the_reference():
    (note,) = busy_notes("CPU", trials(np.linspace(8.0, 24.0, 17)))
    assert note == (
        "the machine was busy: during the search CPU took 9.6 to 22.4 ms (10th to 90th percentile); when nothing else "
        "runs, a search may find a faster placement"
    )


def test_a_machine_is_busy_from_half_as_slow_again_on():
    assert busy_notes("CPU", trials([4.0] * 4 + [6.0] * 4, 12.0)) != ()
    assert busy_notes("CPU", trials([4.0] * 4 + [5.9] * 4, 12.0)) == ()


def test_a_busy_machine_of_a_fleet_is_named():
    def on(name, latencies_ms):
        return [
            replace(trial, measurement=replace(trial.measurement, facts={MACHINE: name}))
            for trial in trials(latencies_ms)
        ]

    (note,) = busy_notes("CPU", [*on("quiet", [8.0] * 17), *on("box", np.linspace(8.0, 24.0, 17))])
    assert note.startswith("machine 'box' was busy: during the search CPU took 9.6 to 22.4 ms")


@pytest.mark.parametrize(("count", "said"), [(0, 0), (7, 0), (8, 1)])
def test_fewer_than_eight_placements_say_nothing(count, said):
    assert len(busy_notes("CPU", trials(np.geomspace(1.0, 100.0, count)))) == said


def test_failures_say_nothing():
    failed = Measurement(error=ErrorKind.CRASH)
    crashed = [Trial(100 + i, PLACEMENT, failed, np.inf, "min_cut", False) for i in range(10)]
    assert busy_notes("CPU", trials([7.0] * 8) + crashed) == ()
    alone = [Trial(100 + i, PLACEMENT, Measurement((4.0,), (1,)), np.inf, "min_cut", False) for i in range(10)]
    assert busy_notes("CPU", trials([7.0] * 8) + alone) == (), "the reference failed"
