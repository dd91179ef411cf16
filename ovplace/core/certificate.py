"""The proof of how good a placement is under a cost model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any

PAIRWISE = "pairwise"
"""The model without the overhead of submodels, `cost.evaluate.latency.pairwise_ms`."""

FULL = "full"
"""The whole model, `cost.evaluate.latency.latency_ms`."""


@dataclass(frozen=True)
class Certificate:
    """The value of a placement under a cost model, and a lower bound on that of every placement.

    Attributes:
        solver: what found it, such as `min_cut`.
        model: which model value and bound are of, `PAIRWISE` or `FULL`.
        value_ms: the placement's latency under that model.
        lower_bound_ms: lower bound on the latency of every placement under that model.
        seconds: time of the solver.
        leaves_out: what the solver ignores of the full model or the machine.
    """

    solver: str
    model: str
    value_ms: float
    lower_bound_ms: float
    seconds: float
    leaves_out: str = ""

    @property
    def gap(self) -> float:
        """Largest possible excess of the value over the optimum, as a fraction of the bound; 0 is proven optimal."""
        if self.value_ms <= self.lower_bound_ms:
            return 0.0
        return self.value_ms / self.lower_bound_ms - 1 if self.lower_bound_ms > 0 else inf

    def to_json(self) -> dict[str, Any]:
        """Return plain data, with None for what is infinite; the inverse of `from_json`."""
        return asdict(self) | {"lower_bound_ms": finite(self.lower_bound_ms), "gap": finite(self.gap)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Certificate:
        """Build a certificate from what `to_json` returned."""
        bound = data["lower_bound_ms"]
        lower_bound_ms = -inf if bound is None else bound
        return cls(data["solver"], data["model"], data["value_ms"], lower_bound_ms, data["seconds"], data["leaves_out"])


def finite(value: float) -> float | None:
    """Return the value; None where it is infinite or not a number, which JSON does not have."""
    return value if isfinite(value) else None
