"""Costs with a price on choices that may make a placement fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import candidates
from ovplace.graphs.op_graph import FloatArray

_LEAST_GAIN = 0.02
"""Prices are as if at least that share of the latency could be gained."""

_LIKELY = 0.5
"""A placement that runs with about this probability tells the most about what fails."""

_RANGE = (2.0**-5, 2.0**4)
_HALVINGS = 9


def wary(table: CostTable, blame: FloatArray, known_ms: float) -> CostTable:
    """Return the table whose optimum gains the most and likely runs; if none does, most gain times probability.

    The probability that a placement runs is a product over groups, so that its negative logarithm, times a price, is
    added to the time of each group: solvers need not know. The price is found by halving an interval.

    Args:
        table: the costs.
        blame: probability that a group, on a device, makes a placement fail, `[G, D]`; below 1.
        known_ms: latency of the best placement that is known to run, by the table.
    """
    best = max(_priced(table, blame, known_ms), key=lambda offer: offer.promise)
    return best.table


@dataclass(frozen=True)
class _Offer:
    """A priced table, what its optimum gains without the price, and the probability that this runs."""

    table: CostTable
    gain_ms: float
    runs: float

    @property
    def promise(self) -> tuple[bool, float]:
        likely = self.gain_ms > 0 and self.runs >= _LIKELY
        return likely, self.gain_ms * (1.0 if likely else self.runs)


def _priced(table: CostTable, blame: FloatArray, known_ms: float) -> Iterator[_Offer]:
    """Yield offers at prices around that at which the optimum runs with probability `_LIKELY`."""
    free = _offer(table, table, blame, known_ms)
    unit_ms = max(free.gain_ms, _LEAST_GAIN * known_ms)
    low, high = np.log2(_RANGE)
    for _ in range(_HALVINGS):
        share = 2.0 ** ((low + high) / 2)
        priced = replace(table, group_ms=table.group_ms - share * unit_ms * np.log1p(-blame))
        offer = _offer(priced, table, blame, known_ms)
        yield offer
        if offer.runs >= _LIKELY:
            high = (low + high) / 2
        else:
            low = (low + high) / 2


def _offer(priced: CostTable, table: CostTable, blame: FloatArray, known_ms: float) -> _Offer:
    found = candidates(priced)
    if not found:  # nothing fits into memory
        return _Offer(priced, 0.0, 0.0)
    gain_ms = known_ms - float(latency_ms(table, found[0][None])[0])
    return _Offer(priced, max(0.0, gain_ms), float(np.prod(1 - blame[np.arange(len(blame)), found[0]])))
