"""A penalty in the cost table on assignments that may make a placement fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import candidates
from ovplace.graphs.op_graph import FloatArray

_LEAST_GAIN_FRACTION = 0.02
"""Least gain, as a fraction of the latency, that penalties are scaled by."""

_LIKELY = 0.5
"""A placement that runs with about this probability gives the most information about failures."""

_RANGE = (2.0**-5, 2.0**4)
"""Least and largest factor of the penalty, in units of the gain without one."""

_HALVINGS = 9
"""Steps of the bisection, each of which solves the model: they leave a factor of 1.01 open."""


def penalise_failures(table: CostTable, failure: FloatArray, known_ms: float) -> CostTable:
    """Return the table with the penalty whose optimum has the largest expected gain.

    The probability that a placement runs is a product over groups: its negative logarithm, times a factor, is added to
    the time of each group, and solvers need not know of it. Bisection finds the factor: the largest gain among optima
    that run with probability 0.5 at least, or else the largest product of gain and probability.

    Args:
        table: the costs.
        failure: probability that a group, on a device, makes a placement fail, `[G, D]`; below 1.
        known_ms: latency of the best placement that is known to run, by the table, in ms.
    """
    best = max(_penalised(table, failure, known_ms), key=lambda option: option.expected_gain)
    return best.table


@dataclass(frozen=True)
class _Option:
    """A table with a penalty, the gain of its optimum without the penalty, and the probability that this runs."""

    table: CostTable
    gain_ms: float
    runs: float

    @property
    def expected_gain(self) -> tuple[bool, float]:
        likely = self.gain_ms > 0 and self.runs >= _LIKELY
        return likely, self.gain_ms * (1.0 if likely else self.runs)


def _penalised(table: CostTable, failure: FloatArray, known_ms: float) -> Iterator[_Option]:
    """Yield options with factors around that at which the optimum runs with probability `_LIKELY`."""
    free = _option(table, table, failure, known_ms)
    unit_ms = max(free.gain_ms, _LEAST_GAIN_FRACTION * known_ms)
    low, high = np.log2(_RANGE)
    for _ in range(_HALVINGS):
        share = 2.0 ** ((low + high) / 2)
        penalised = replace(table, group_ms=table.group_ms - share * unit_ms * np.log1p(-failure))
        option = _option(penalised, table, failure, known_ms)
        yield option
        if option.runs >= _LIKELY:
            high = (low + high) / 2
        else:
            low = (low + high) / 2


def _option(penalised: CostTable, table: CostTable, failure: FloatArray, known_ms: float) -> _Option:
    found = candidates(penalised)
    if not found:  # nothing fits into memory
        return _Option(penalised, 0.0, 0.0)
    gain_ms = known_ms - float(latency_ms(table, found[0][None])[0])
    return _Option(penalised, max(0.0, gain_ms), float(np.prod(1 - failure[np.arange(len(failure)), found[0]])))
