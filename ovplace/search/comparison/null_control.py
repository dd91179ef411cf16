"""The null control: the cuts of the best placement, between two identical aliases of one device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ovplace.core.measurement import Candidate
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict
from ovplace.session.baselines import Baseline
from ovplace.session.session import Session


def null_candidate(session: Session, best: Candidate, against: Baseline) -> Candidate | None:
    """Return the best placement's cut between two identical aliases of the baseline's device, if there can be one.

    Args:
        session: the run.
        best: the placement that is compared.
        against: the best baseline; where it has several devices, there is no control.
    """
    placement = best.placement
    base = against.placement.used[0] if against.placement and against.placement.is_uniform else ""
    if (
        not session.config.comparison.null_control
        or placement is None
        or placement.is_uniform
        or base not in session.nulls
    ):
        return None
    home = placement.devices.index(base) if base in placement.used else int(placement.device_of[0])
    moved = (placement.device_of != home).astype(np.int64)
    return Candidate("null control", Placement(moved, (base, session.nulls[base].name)))


def with_null_control(verdict: Verdict, null: Candidate, ratio: Interval | None) -> Verdict:
    """Return a verdict with what cutting alone does, which it notes where that makes the model faster.

    Args:
        verdict: without it.
        null: what `null_candidate` returned.
        ratio: latency of that over the device's; None where it is not known.
    """
    if ratio is None or null.placement is None:
        return verdict
    return with_null_note(replace(verdict, null_control=ratio, null_device=null.placement.devices[0]))


def with_null_note(verdict: Verdict) -> Verdict:
    """Return a verdict with a note where cutting alone makes the model faster, too."""
    null = verdict.null_control
    if verdict.status != Status.FASTER or null is None or null.high >= 1:
        return verdict
    note = (
        "cutting the model at the same places without changing the device makes it faster, too "
        f"(ratio {null.value:.3f}); that part of the gain does not come from the second device"
    )
    return replace(verdict, notes=(*verdict.notes, note))
