"""A result to try things on, without a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ovplace.core.measurement import OutputError
from ovplace.core.result.parts import (
    Accuracy,
    BaselineSummary,
    BestPlacement,
    DeviceSummary,
    Environment,
    ModelSummary,
    OutsideFraction,
    SearchSummary,
    TimeSpent,
)
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval
from ovplace.core.verdict import LEVEL, Status, Verdict

LATENCY = Interval(5.0, 4.9, 5.1)


def device_summary(name: str, **changes: Any) -> DeviceSummary:
    """Return a device without properties.

    Args:
        name: its name.
        **changes: fields of `DeviceSummary` to replace.
    """
    return replace(DeviceSummary(name, name, name, name, {}, "", False), **changes)


def baseline_summary(name: str, **changes: Any) -> BaselineSummary:
    """Return a baseline that ran as fast as the best single device.

    Args:
        name: its name.
        **changes: fields of `BaselineSummary` to replace.
    """
    return replace(BaselineSummary(name, LATENCY, 1.0, True, (), "", 0.0, None), **changes)


def run_result(**changes: Any) -> RunResult:
    """Return the result of a run on a GPU and a CPU whose best placement is faster than the CPU.

    Args:
        **changes: parts of `RunResult` to replace.
    """
    result = RunResult(
        model=ModelSummary("model.xml", "0" * 32, 10, 4),
        devices=(device_summary("GPU"), device_summary("CPU")),
        note="",
        baselines=(baseline_summary("CPU"), baseline_summary("GPU", ratio=1.5)),
        best=BestPlacement("cut", LATENCY, {"GPU": 3, "CPU": 7}, ("CPU", "GPU", "CPU"), 2048, "0" * 24),
        verdict=Verdict(Status.FASTER, "CPU", Interval(0.47, 0.46, 0.5, LEVEL)),
        accuracy=Accuracy("the whole model on CPU in f32", (OutputError("y", 1e-6, 1e-7, 1.0),)),
        search=SearchSummary(
            "cut", "chains", 10, 9, 1, 0, TimeSpent(9.0, 5.0, 3.0, 1.0, 0.5, 0.0, 6.0), OutsideFraction(0.1, 0.2)
        ),
        environment=Environment({"ovplace": "0", "openvino": "0"}, "", "a processor", "Linux", {}, 0, ""),
    )
    return replace(result, **changes)
