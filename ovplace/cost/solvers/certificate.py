"""What a solver found, and the proof of how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from ovplace.graphs.op_graph import IntArray, frozen_array

PAIRWISE = "pairwise"
"""The model without the overhead of submodels, `cost.model.pairwise_ms`."""

FULL = "full"
"""The whole model, `cost.model.latency_ms`."""


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


@dataclass(frozen=True, eq=False)
class Solution:
    """A placement of groups with its certificate.

    Attributes:
        device_of: device of each group, `[G]`.
        certificate: how good it is.
    """

    device_of: IntArray = field(repr=False)
    certificate: Certificate

    def __post_init__(self) -> None:
        """Freeze the array."""
        object.__setattr__(self, "device_of", frozen_array(self.device_of))
