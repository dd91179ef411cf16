"""Placements of a search in stages, as long as these agree with HETERO."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore

TOLERANCE = 0.15
"""Relative difference in latency from which stages do not stand for HETERO. Two compilations of the same placement in
turns differ by up to 10 % on a busy machine."""

_FOUND = "stages_over_hetero"  # in the run's store


@dataclass
class Staging:
    """Whether placements run in stages, decided by the first one on several devices.

    Attributes:
        measurer: of the run.
        spec: how to time.
        wanted: whether they run in stages at all.
    """

    measurer: Measurer
    spec: MeasureSpec
    wanted: bool

    def candidate(self, name: str, placement: Placement) -> Candidate:
        """Return how a placement is measured.

        Args:
            name: its name in tables.
            placement: the device of each operation, `[N]`.
        """
        staged = self.wanted and not placement.is_uniform and self._agrees(placement)
        return Candidate(name, placement, staged=staged)

    def _agrees(self, placement: Placement) -> bool:
        found = stages_over_hetero(self.measurer.store)
        if found is None:
            staged = Candidate("in stages", placement, staged=True)
            whole = Candidate("by HETERO", placement)
            found = self.measurer.stored_pair(staged, whole, self.spec, check=False).ratio
            if np.isfinite(found):  # a placement that fails decides nothing
                self.measurer.store.put(_FOUND, found)
        return not np.isfinite(found) or abs(found - 1) <= TOLERANCE


def stages_over_hetero(store: RunStore) -> float | None:
    """Return the latency of a run's first placement on several devices in stages over its latency by HETERO.

    None where that was not measured.
    """
    found = store.get(_FOUND)
    return float(found) if isinstance(found, int | float) else None
