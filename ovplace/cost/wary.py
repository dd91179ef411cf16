"""Costs with a price on choices that may make a placement fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ovplace.core.costs import CostTable
from ovplace.core.graph import FloatArray
from ovplace.cost.model import latency_ms
from ovplace.cost.solve import candidates

_SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625)

_SURPRISE = 0.02
"""What a placement may gain whatever the costs say: as a share of the largest gain, and that as one of the latency."""


def wary(table: CostTable, blame: FloatArray, known_ms: float) -> CostTable:
    """Return the table whose optimum promises the most: what it gains times the probability that it runs.

    That probability is a product over groups. To maximise its logarithm and that of the gain is, near the solution, to
    add the gain times minus the logarithm of the probability, a sum over groups, to the latency: solvers need not know.
    The gain of the solution is not known before, so several shares of the largest one are tried.

    Args:
        table: the costs.
        blame: probability that a group, on a device, makes a placement fail, `[G, D]`; below 1.
        known_ms: latency of the best placement that is known to run, by the table.
    """
    log_runs = np.log1p(-blame)
    most_ms = max(_best(table, blame, known_ms)[0], _SURPRISE * known_ms)
    priced = [replace(table, group_ms=table.group_ms - share * most_ms * log_runs) for share in _SHARES]

    def promise(costs: CostTable) -> float:
        gain_ms, runs = _best(costs, blame, known_ms, table)
        return (gain_ms + _SURPRISE * most_ms) * runs

    return max(priced, key=promise)


def _best(costs: CostTable, blame: FloatArray, known_ms: float, truth: CostTable | None = None) -> tuple[float, float]:
    """Return what the optimum of `costs` gains, ms, by `truth` if given, and the probability that it runs."""
    found = candidates(costs)
    if not found:  # nothing fits into memory
        return 0.0, 0.0
    gain_ms = known_ms - float(latency_ms(truth or costs, found[0][None])[0])
    return max(0.0, gain_ms), float(np.prod(1 - blame[np.arange(len(blame)), found[0]]))
