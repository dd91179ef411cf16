"""A timeline of one inference: the submodels one after another, as measured and as predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.report.evidence import Evidence
from ovplace.report.sections.why import stage_times, submodels_of_stages


@dataclass(frozen=True)
class Lane:
    """One way to know how long each stage takes.

    Attributes:
        label: `measured` or `predicted`.
        parts: name of a part of a stage, `[P]`.
        ms: time of each part of each stage, `[S][P]`.
        device: of each stage, `[S]`.
        submodels: numbers of the submodels of each stage, `[S]`.
    """

    label: str
    parts: tuple[str, ...]
    ms: tuple[tuple[float, ...], ...]
    device: tuple[str, ...]
    submodels: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TimelineSection:
    """The timelines of one inference; empty where nothing is known of its parts."""

    lanes: tuple[Lane, ...]


def timeline_section(evidence: Evidence) -> TimelineSection:
    """Return the timelines of the answer."""
    found = (_measured(evidence), _predicted(evidence))
    return TimelineSection(tuple(lane for lane in found if lane))


def _measured(evidence: Evidence) -> Lane | None:
    """Return the times of the submodels where the answer was run in stages."""
    digest, timed = evidence.answer.hash, evidence.answer.timed
    times = [
        trial.measurement.stages_ms
        for trial in evidence.trials
        if trial.placement.hash == digest and len(trial.measurement.stages_ms) == len(timed)
    ]
    if not times:
        return None
    rows = tuple((float(ms),) for ms in np.median(times, axis=0))
    return _lane(evidence, "measured, stage by stage", ("run",), rows, [(number,) for number in timed])


def _predicted(evidence: Evidence) -> Lane | None:
    """Return the times by the cost model; None where it has none, as for a group that failed when profiled alone."""
    choice = evidence.answer.choice
    if evidence.costs is None or choice is None or not evidence.costs.runs(choice):
        return None
    stages, ms = stage_times(evidence, evidence.costs, evidence.answer)
    copies = ms["transfers"]
    members = submodels_of_stages(evidence.answer, stages)
    rows = tuple(zip(copies.tolist(), (sum(ms.values()) - copies).tolist(), strict=True))
    return _lane(evidence, "predicted by the cost model", ("copies", "run"), rows, members)


def _lane(
    evidence: Evidence,
    label: str,
    parts: tuple[str, ...],
    ms: tuple[tuple[float, ...], ...],
    submodels: Sequence[Sequence[int]],
) -> Lane:
    """Return a lane of the answer, each stage on the device of its submodels."""
    devices = [evidence.run.devices[evidence.answer.devices[numbers[0]]] for numbers in submodels]
    return Lane(label, parts, ms, tuple(map(evidence.label, devices)), tuple(map(tuple, submodels)))
