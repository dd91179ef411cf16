"""The lines of a result's table: every latency in it comes from the final comparison, in which all took turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ovplace.core.result.labels import label
from ovplace.core.result.parts import BaselineSummary
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval

SLOW_RATIO = 1.5
"""A line that took this many times as long as the best one was timed once for that reason, others for lack of time."""


@dataclass(frozen=True)
class ResultRow:
    """A line of the table: a baseline, or the search's best placement.

    Attributes:
        name: the baseline's name; the placer's, for the placement.
        latency_ms: latency in ms; None where the line was not in the final comparison.
        ratio: latency over that of the verdict's baseline; None where the line failed.
        max_rel_error: largest relative output error; None where outputs were not checked.
        is_answer: whether it is the answer.
        is_earlier: whether its ratio is of before the search, unlike that of others.
        baseline: the baseline; None for the placement.
    """

    name: str
    latency_ms: Interval | None
    ratio: float | None
    max_rel_error: float | None
    is_answer: bool
    is_earlier: bool = False
    baseline: BaselineSummary | None = None


def rows_of(result: RunResult) -> Iterator[ResultRow]:
    """Yield the lines of a result: its baselines in their order, then the placement that the search found."""
    compared = _compared(result)
    for baseline in result.baselines:
        latency = _latency(result, baseline)
        yield ResultRow(
            name=baseline.name,
            latency_ms=latency,
            ratio=_ratio(result, baseline),
            max_rel_error=baseline.max_rel_error,
            is_answer=not result.is_faster and baseline.name == result.verdict.against,
            is_earlier=compared and latency is None,
            baseline=baseline,
        )
    found = result.found or (result.best if result.is_faster else None)  # earlier versions kept it only where it won
    if found:
        yield ResultRow(
            name=found.origin,
            latency_ms=found.latency_ms if compared else None,
            ratio=result.verdict.ratio.value if result.verdict.ratio else None,
            max_rel_error=found.max_rel_error if result.found else result.accuracy.max_rel_error,
            is_answer=result.is_faster,
        )


def remarks(result: RunResult, row: ResultRow) -> Iterator[str]:
    """Yield what to know of a baseline's line; nothing for a placement that the search found.

    Args:
        result: the run's result.
        row: a line of its table.
    """
    if not (baseline := row.baseline):
        return
    if baseline.error:
        yield baseline.error
        return
    if not baseline.competes:
        yield "for information only"
    if baseline.name.startswith("AUTO"):
        yield f"runs on {_runs_on(result, baseline)}"
    elif baseline.name.startswith("HETERO") and len(set(baseline.submodels)) == 1:
        yield f"all on {label(result, baseline.submodels[0])}"
    if row.latency_ms is None and baseline.latency_ms and is_of_one_sample(result, baseline.latency_ms):
        yield "too slow, timed once" if (row.ratio or 0.0) > SLOW_RATIO else "timed once, for lack of time"
    elif row.is_earlier:
        yield "timed once, before the search"


def is_of_one_sample(result: RunResult, latency_ms: Interval) -> bool:
    """Return whether a latency has no interval because it was timed once: simulated ones may have no noise.

    Args:
        result: the run's result.
        latency_ms: a latency of it.
    """
    return latency_ms.low == latency_ms.high and not result.environment.simulated


def _runs_on(result: RunResult, baseline: BaselineSummary) -> str:
    """Return what AUTO chose; the GPU plugin calls itself `GPU.0` even where there is but one `GPU`."""
    names = baseline.runs_on.split(",")
    return ", ".join(label(result, n if n in result.device_names else n.removesuffix(".0")) for n in names)


def _latency(result: RunResult, baseline: BaselineSummary) -> Interval | None:
    """Return the latency that may stand beside others: where nothing was compared, that of the answer alone."""
    if _compared(result):
        return baseline.final_latency_ms
    return baseline.latency_ms if baseline.name == result.verdict.against else None


def _ratio(result: RunResult, baseline: BaselineSummary) -> float | None:
    """Return the ratio to the verdict's baseline: that of the final comparison, else that of two ratios before it."""
    if baseline.final_ratio:
        return baseline.final_ratio.value
    against = result.baseline(result.verdict.against)
    if baseline.final_latency_ms and against.final_latency_ms:  # of earlier versions
        return baseline.final_latency_ms.value / against.final_latency_ms.value
    if baseline.ratio is None or not against.ratio:
        return baseline.ratio
    return baseline.ratio / against.ratio


def _compared(result: RunResult) -> bool:
    """Return whether there was a final comparison whose latencies are known; the first versions did not keep them."""
    return any(baseline.final_latency_ms for baseline in result.baselines)
