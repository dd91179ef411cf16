"""The race: placements that may be the best are measured again, in turns, until one is known to be the best or nearly.

In each heat the placement that is believed to be the fastest and those most likely to be faster still take turns in a
fresh process, and all that was measured sharpens what is believed. The race ends when the first is surely as fast as
the best but for `CLOSE`, when surely none is as fast as the best baseline, or when its measurements are spent.

Sources: Russo, "Simple Bayesian algorithms for best-arm identification", 2016 (measure the first and what may be better
by draws from the posterior); Chen et al., "Simulation budget allocation", 2000 (effort goes to what cannot yet be told
from the first).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.search.comparison.belief import Belief
from ovplace.search.comparison.disturbance import error_of
from ovplace.search.comparison.expectation import Expectation
from ovplace.seeds import generator

CLOSE = 0.005
"""Relative latency by which the winner may be slower than the best: less than a user can notice."""

SURE = 0.95
"""Probability of that at which the race ends."""

_DRAWS = 2000
"""Draws of the latencies of all placements by which probabilities are counted."""

_USUAL_NOISE, _USUAL_WEIGHT = 0.03, 4
"""Relative spread between compilations of one placement, and the number of measurements this assumption is worth."""

_OWN_LEVEL = 3
"""Heats from which on their median says what is usual, and no longer the search: the machine may have changed since."""

_HEAT_VARIANCE = 1e4
"""Variance of the logarithm of a factor on all latencies of a heat. They are in milliseconds, what is expected is a
ratio: no value of the factor may seem less likely than another."""


@dataclass(frozen=True, eq=False)
class Heat:
    """Placements measured in turns.

    Attributes:
        which: the placements, `[M]`.
        latency_ms: their latencies, `[M]`; infinite for failures.
    """

    which: IntArray
    latency_ms: FloatArray

    @property
    def ran(self) -> Heat:
        """The heat without failures."""
        ran = np.isfinite(self.latency_ms)
        return Heat(self.which[ran], self.latency_ms[ran])


@dataclass(frozen=True, eq=False)
class Field:
    """The placements of a race.

    Attributes:
        ratios: latency ratios that the search measured, `[P]`; finite.
        costs: costs of the model's groups; None where the search had none.
        device_of: device of each group under each placement, `[P, G]`; None where the search had no costs.
        seed: root seed.
        to_beat: ratio of the best baseline; where none is faster than that, it does not matter which is the fastest.
        disturbed: standard deviation of what disturbances added to the logarithms of `ratios`, `[P]`; None for nothing.
        usual_ms: latency of what `ratios` are relative to; not finite where it is not known, and no heat counts less.
    """

    ratios: FloatArray
    costs: CostTable | None = None
    device_of: IntArray | None = None
    seed: int = 0
    to_beat: float = np.inf
    disturbed: FloatArray | None = None
    usual_ms: float = np.nan

    @cached_property
    def _expectation(self) -> Expectation:
        return Expectation(self.ratios, self.costs, self.device_of, self.disturbed)

    def belief(self, heats: Sequence[Heat]) -> Belief:
        """Return what is believed after some heats."""
        noise = noise_of(heats, len(self.ratios))
        # A ratio of the search has the noise of two compilations: the placement's and the reference's.
        belief = self._expectation.belief(np.sqrt(2) * noise)
        ran = [heat.ran for heat in heats]
        for heat, disturbed in zip(ran, self._disturbances(ran, belief), strict=True):
            errors = (noise**2 + disturbed**2) * np.eye(len(heat.which)) + _HEAT_VARIANCE
            belief = belief.given(heat.which, np.log(heat.latency_ms), errors)
        return belief

    def _disturbances(self, heats: Sequence[Heat], expected: Belief) -> FloatArray:
        """Return the standard deviation of what disturbances added to the logarithms of each heat, `[H]`.

        A heat was disturbed where all of its placements took longer than usual, or all less.
        """
        if not np.isfinite(self.usual_ms):
            return np.zeros(len(heats))
        found = [np.log(heat.latency_ms) - expected.mean[heat.which] for heat in heats]
        levels = [level.mean() for level in found if len(level)]
        usual = np.median(levels) if len(levels) >= _OWN_LEVEL else np.log(self.usual_ms)
        off = [level - usual for level in found]
        return error_of(np.array([max(one.min(), 0) + min(one.max(), 0) if len(one) else 0.0 for one in off]))


@dataclass(frozen=True, eq=False)
class Standing:
    """The order of the placements at some moment.

    Attributes:
        order: the first, then the others by their probability of being faster, `[P']`; without those that failed.
        sure: probability that the first is the fastest, or slower by `CLOSE` at most.
        rivals: number of others that may be faster by more than that.
        hope: probability that one of them is faster than what there is to beat.
    """

    order: IntArray
    sure: float = 0.0
    rivals: int = 0
    hope: float = 0.0

    @property
    def is_decided(self) -> bool:
        """True if further heats would hardly change the answer."""
        return self.sure >= SURE or self.hope < 1 - SURE


def standing(field: Field, heats: Sequence[Heat]) -> Standing:
    """Return the order after some heats.

    Args:
        field: the placements.
        heats: measured so far.
    """
    failed = {int(i) for heat in heats for i in heat.which[~np.isfinite(heat.latency_ms)]}
    kept = np.array([i for i in range(len(field.ratios)) if i not in failed], dtype=np.int64)
    if not len(kept):
        return Standing(kept)
    belief = field.belief(heats)
    drawn = belief.draws(generator(field.seed, "race", len(heats)), _DRAWS)[:, kept]
    first = int(belief.mean[kept].argmin())
    faster = (drawn < drawn[:, [first]] - CLOSE).mean(axis=0)
    faster[first] = np.inf
    order = np.lexsort((belief.mean[kept], -faster))
    sure = float((drawn[:, first] <= drawn.min(axis=1) + CLOSE).mean())
    hope = float((drawn.min(axis=1) < np.log(field.to_beat)).mean())
    return Standing(kept[order], sure, int((faster > 1 - SURE).sum()) - 1, hope)


def noise_of(heats: Sequence[Heat], count: int) -> float:
    """Return the relative spread between compilations of one placement, from heats that repeat placements.

    Args:
        heats: measured so far.
        count: number of placements.
    """
    ran = [heat.ran for heat in heats]
    which = np.concatenate([[], *(heat.which for heat in ran)]).astype(np.int64)
    number = np.repeat(np.arange(len(ran)), [len(heat.which) for heat in ran])
    design = np.concatenate([np.eye(count)[which], np.eye(len(ran))[number]], axis=1)
    values = np.log(np.concatenate([[], *(heat.latency_ms for heat in ran)]))
    solution, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    squares, free = float(((values - design @ solution) ** 2).sum()), len(values) - int(rank)
    return float(np.sqrt((_USUAL_WEIGHT * _USUAL_NOISE**2 + squares) / (_USUAL_WEIGHT + free)))


def race(field: Field, measure: Callable[[IntArray, int], FloatArray], size: int, budget: int) -> Iterator[Standing]:
    """Yield the standing before each heat, and at last the result.

    Args:
        field: the placements.
        measure: returns the latencies of placements that take turns in the heat of this number; infinite for failures.
        size: placements of a heat, at most.
        budget: placements measured in all heats, at most.
    """
    heats: list[Heat] = []
    while True:
        now = standing(field, heats)
        yield now
        left = budget - sum(len(heat.which) for heat in heats)
        # The first heat is never left out: a model that is sure of itself may be wrong about what it never saw twice.
        runners = now.order[: min(size, left, max(2, 1 + now.rivals) if heats else size)]
        if len(runners) < 2 or (heats and now.is_decided):
            return
        heats.append(Heat(runners, measure(runners, len(heats))))
