"""The proof of how good a placement is under a cost model."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

PAIRWISE = "pairwise"
"""The model without the overhead of submodels, `cost.evaluate.latency.pairwise_ms`."""

FULL = "full"
"""The whole model, `cost.evaluate.latency.latency_ms`."""


@dataclass(frozen=True)
class Certificate:
    """The value of a placement under a cost model, and what no placement can go below.

    Attributes:
        solver: what found it, such as `min_cut`.
        model: which model value and bound are of, `PAIRWISE` or `FULL`.
        value_ms: the placement's latency under that model.
        lower_bound_ms: no placement's latency under that model is lower.
        seconds: time of the solver.
        leaves_out: what of the full model, or of the machine, the solver did not look at.
    """

    solver: str
    model: str
    value_ms: float
    lower_bound_ms: float
    seconds: float
    leaves_out: str = ""

    @property
    def gap(self) -> float:
        """How far the value may be above the optimum, as a fraction of the bound; 0 is proven optimal."""
        if self.value_ms <= self.lower_bound_ms:
            return 0.0
        return self.value_ms / self.lower_bound_ms - 1 if self.lower_bound_ms > 0 else inf
