"""The answer beside the baselines, with all samples that their intervals come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ovplace.core.measurement import Measurement
from ovplace.core.result.labels import is_uncertain, number
from ovplace.core.result.rows import ResultRow, is_of_one_sample, remarks, rows_of
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval
from ovplace.report.evidence import Evidence
from ovplace.report.numbers import Triple, triple


@dataclass(frozen=True)
class Row:
    """A placement in the table.

    Attributes:
        name: its name, marked where it is emulated or simulated.
        answer: whether it is the run's answer.
        latency_ms: latency and interval; None where it was not in the comparison that the others are of.
        interval: the interval in words; a dash where there is none.
        ratio: its latency over that of the verdict's baseline, measured in turns; None where it failed.
        max_rel_error: largest relative output error; None where outputs were not checked.
        remark: why it failed, or what to know of it.
        rounds: samples of each round in ms.
    """

    name: str
    answer: bool
    latency_ms: Triple | None
    interval: str
    ratio: float | None
    max_rel_error: float | None
    remark: str
    rounds: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ComparisonSection:
    """The answer beside the baselines.

    Attributes:
        moment: when the latencies were measured.
        rows: the reference first, what the search found last.
    """

    moment: str
    rows: tuple[Row, ...]


def comparison_section(evidence: Evidence) -> ComparisonSection:
    """Return the comparison of a run: latencies of one moment only, as machines drift."""
    compared = any(baseline.final_latency_ms for baseline in evidence.result.baselines)
    moment = "the final comparison, in turns" if compared else "before the search"
    return ComparisonSection(moment, tuple(_row(evidence, row) for row in rows_of(evidence.result)))


def _row(evidence: Evidence, row: ResultRow) -> Row:
    measured = evidence.finals.get(row.name if row.baseline else evidence.found, ())
    before = evidence.baselines.get(row.name)
    if row.latency_ms and not measured and before:
        measured = (before,)
    return Row(
        name=evidence.label(row.name) if row.baseline else f"found by {row.name}",
        answer=row.is_answer,
        latency_ms=triple(row.latency_ms),
        interval=_interval(evidence.result, row.latency_ms),
        ratio=row.ratio,
        max_rel_error=row.max_rel_error,
        remark=", ".join(remarks(evidence.result, row)) if row.baseline else evidence.found,
        rounds=_rounds(measured) if row.latency_ms else (),
    )


def _interval(result: RunResult, latency_ms: Interval | None) -> str:
    if latency_ms is None or is_of_one_sample(result, latency_ms):
        return "-"
    return "uncertain" if is_uncertain(latency_ms) else f"{number(latency_ms.low)} to {number(latency_ms.high)}"


def _rounds(measured: Sequence[Measurement]) -> tuple[tuple[float, ...], ...]:
    return tuple(m.samples_ms for m in measured if m.ok)
