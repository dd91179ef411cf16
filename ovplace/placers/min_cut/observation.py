"""Measured placements as a search keeps them, and as its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ovplace.core.measurement import Trial


class Observation(NamedTuple):
    """A measured placement.

    Attributes:
        choice: device of each group, `[G]`.
        ratio: latency over that of the reference measured at the same time; None for a failure.
        latency_ms: median latency in ms; None for a failure.
        stages_ms: median latency of each submodel in running order, where they were run one by one; else empty.
    """

    choice: list[int]
    ratio: float | None
    latency_ms: float | None
    stages_ms: Sequence[float] = ()

    @classmethod
    def of(cls, choice: list[int], trial: Trial) -> Observation:
        """Return the observation of a measured placement.

        Args:
            choice: device of each group, `[G]`.
            trial: its measurement.
        """
        if not np.isfinite(trial.ratio):
            return cls(choice, None, None, [])
        return cls(choice, trial.ratio, trial.measurement.median_ms, list(trial.measurement.stages_ms))
