"""Signs that the machine was busy while placements were measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.result.labels import short_ms

BUSY = 1.5
"""Ratio of the reference's 90th to its 10th percentile over a search. It was 1.3 in a search of the demo model on a
nearly quiet machine, 2.5 in one beside programs that used both of its cores now and then."""

ENOUGH = 8
"""Placements from which on the percentiles mean something."""


def busy_notes(reference: str, trials: Sequence[Trial]) -> tuple[str, ...]:
    """Return what to say of a search on a busy machine; nothing of one on a quiet machine.

    Args:
        reference: name of what each placement was timed in turns with, itself always the same.
        trials: the search's trials.
    """
    by_machine: defaultdict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.measurement.ok and np.isfinite(trial.ratio):
            by_machine[trial.machine].append(trial.reference_ms)
    return tuple(note for machine, found_ms in by_machine.items() if (note := _note(reference, machine, found_ms)))


def _note(reference: str, machine: str, found_ms: Sequence[float]) -> str:
    """Return what to say of one machine, by the latencies of the reference there; empty for nothing."""
    if len(found_ms) < ENOUGH:
        return ""
    low_ms, high_ms = np.quantile(found_ms, [0.1, 0.9])
    if high_ms < BUSY * low_ms:
        return ""
    which = f"machine '{machine}'" if machine else "the machine"
    took = f"{short_ms(low_ms)} to {short_ms(high_ms)} ms"
    return (
        f"{which} was busy: during the search {reference} took {took} (10th to 90th percentile); when nothing else "
        "runs, a search may find a faster placement"
    )
