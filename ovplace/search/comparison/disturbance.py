"""Errors of measurements that other work on the machine disturbed, judged by their reference's latency.

A disturbance seldom slows down a placement and its reference alike, so that their ratio is off as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.graphs.op_graph import FloatArray

QUIET = 0.1
"""Largest difference of the logarithm of the reference's latency from the usual one that is no disturbance."""

SHARE, MOST = 0.7, 0.25
"""Standard error of the logarithm of a ratio over that difference of its reference, and the largest such error."""


def usual_ms(trials: Sequence[Trial]) -> float:
    """Return the usual latency of the trials' reference in ms; NaN if several machines measured them.

    Args:
        trials: trials that worked.
    """
    if len({trial.machine for trial in trials}) > 1:  # heats do not tell on which one they are
        return float("nan")
    return float(np.median([trial.reference_ms for trial in trials]))


def disturbances(trials: Sequence[Trial]) -> FloatArray:
    """Return the standard deviation of the error that a disturbance adds to the logarithm of each ratio, `[P]`.

    Args:
        trials: trials that worked; each is compared with those measured on the same machine.
    """
    found_ms = np.array([trial.reference_ms for trial in trials])
    machines = np.array([trial.machine for trial in trials])
    off = np.zeros(len(trials))
    for machine in set(machines.tolist()):
        there = machines == machine
        off[there] = np.log(found_ms[there] / np.median(found_ms[there]))
    return error_of(off)


def error_of(off: FloatArray) -> FloatArray:
    """Return the standard deviation of the error of the logarithms of ratios, of the shape of `off`.

    Args:
        off: differences of the logarithms of their references' latencies from the usual ones.
    """
    return np.where(np.abs(off) > QUIET, np.minimum(SHARE * np.abs(off), MOST), 0.0)
