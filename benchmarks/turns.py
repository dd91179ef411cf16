"""Answers of searches and the CPU alone, timed in turns in fresh processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.report import interval_text
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec, rotated
from ovplace.core.placement import Placement
from ovplace.core.statistics import ratio_interval
from ovplace.graphs.op_graph import FloatArray
from ovplace.session.session import Session

SPEC = MeasureSpec(warmup=1, blocks=15, repeats=3, min_time_ms=20.0, deadline_s=120.0, hopeless_ratio=1e9)


def in_turns(session: Session, answers: Sequence[Placement], rounds: int) -> list[list[Measurement]]:
    """Return the measurements of the answers and, last, of the CPU alone, in each of so many fresh processes.

    Each process begins with another candidate: two copies of one answer differed by 3 % in ten processes that all took
    them in the same order.

    Args:
        session: of the model.
        answers: placements of it.
        rounds: processes.
    """
    names = session.problem.device_names
    placements = [*answers, Placement.uniform(len(session.graph), "CPU", names)]
    candidates = [Candidate(f"answer {number}", placement) for number, placement in enumerate(placements)]
    spec = replace(SPEC, deadline_s=SPEC.deadline_s * len(candidates))
    measured = []
    for number in range(rounds):
        session.pool.renew()
        measured.append(rotated(session.pool.measure(rotated(candidates, number), spec), -number))
    return measured


def ratio_of(measured: Sequence[Sequence[Measurement]], numerator: int, denominator: int) -> str:
    """Return the latency ratio of two of the candidates of `in_turns`, with its interval.

    Args:
        measured: what `in_turns` returned.
        numerator: number of a candidate.
        denominator: likewise.
    """
    return interval_text(ratio_interval(_blocks(measured, numerator), _blocks(measured, denominator)))


def _blocks(measured: Sequence[Sequence[Measurement]], which: int) -> list[FloatArray]:
    return [of[which].block_medians_ms for of in measured]
