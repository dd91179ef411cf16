"""Placements of a search in stages, as long as these agree with HETERO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.session.measurer import Measurer, latency_ratio
from ovplace.store.run_db import RunStore

TOLERANCE = 0.15
"""Relative difference in latency from which stages do not stand for HETERO. Two compilations of the same placement in
turns differ by up to 10 % on a busy machine, and now and then by 20 %."""

TRIES = 3
"""Placements that must all differ by more before a search leaves stages."""

_FOUND = "stages_over_hetero"  # in the run's store


@dataclass
class Staging:
    """Whether placements run in stages, decided by the first ones on several devices.

    Attributes:
        measurer: the run's measurer.
        reference: what placements are timed in turns with.
        spec: how to time.
        wanted: whether they run in stages at all.
    """

    measurer: Measurer
    reference: Candidate
    spec: MeasureSpec
    wanted: bool

    def candidate(self, name: str, placement: Placement) -> Candidate:
        """Return how a placement is measured.

        Args:
            name: its name in tables.
            placement: the device of each operation, `[N]`.
        """
        staged = self.wanted and not placement.is_uniform and self._agrees(name, placement)
        return Candidate(name, placement, staged=staged)

    def _agrees(self, name: str, placement: Placement) -> bool:
        ratios = _deciding(self.measurer.store)
        agreed = any(map(_agreeing, ratios))
        if agreed or len(ratios) == TRIES:
            return agreed
        whole = Candidate(name, placement)
        if self._is_slow(in_stages(whole)):
            return True  # until a faster one decides
        ratio = self.measurer.stored_pair(in_stages(whole), whole, self.spec, check=False).ratio
        note_agreement(self.measurer.store, {name: ratio})
        return _agreeing(ratio)

    def _is_slow(self, staged: Candidate) -> bool:
        """Return whether a placement fails, or is so slow that the search times it once.

        Both ways would be timed fully, because they are as slow as each other, and HETERO would compile it for this
        alone. That can take longer than the whole search of a short call.
        """
        both = self.measurer.request([staged, self.reference], self.spec.one_sample())
        return latency_ratio(*both) > self.spec.hopeless_ratio


def staging_notes(store: RunStore) -> list[str]:
    """Return that the search has left stages, if it has.

    Args:
        store: the run's store.
    """
    ratios = _deciding(store)
    if len(ratios) < TRIES or any(map(_agreeing, ratios)):
        return []
    took = f"{min(ratios):.2f} to {max(ratios):.2f} times as long as by HETERO"
    return [f"in stages, the first {TRIES} placements took {took}; the search measured whole placements instead"]


def _deciding(store: RunStore) -> list[float]:
    return list(stages_over_hetero(store).values())[:TRIES]


def _agreeing(ratio: float) -> bool:
    return not np.isfinite(ratio) or abs(ratio - 1) <= TOLERANCE


def in_stages(whole: Candidate) -> Candidate:
    """Return the candidate that runs a placement in stages which `whole` runs by HETERO."""
    return replace(whole, name=f"{whole.name} in stages", staged=True)


def note_agreement(store: RunStore, ratios: Mapping[str, float]) -> None:
    """Add latencies in stages over those by HETERO to what the run knows of that.

    Args:
        store: the run's store.
        ratios: by name of the placement; what failed, and so is not finite, is left out.
    """
    finite = {name: ratio for name, ratio in ratios.items() if np.isfinite(ratio)}
    store.put(_FOUND, dict(stages_over_hetero(store)) | finite)


def stages_over_hetero(store: RunStore) -> Mapping[str, float]:
    """Return the latency in stages over that by HETERO of each placement measured both ways, by name, in order."""
    found = store.get(_FOUND)
    return found if isinstance(found, dict) else {}
