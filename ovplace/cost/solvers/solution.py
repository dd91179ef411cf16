"""A placement that a solver found, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field

from ovplace.core.certificate import Certificate
from ovplace.graphs.op_graph import IntArray, frozen_array


@dataclass(frozen=True, eq=False)
class Solution:
    """A placement of groups with its certificate.

    Attributes:
        device_of: device of each group, `[G]`.
        certificate: proof of its distance from the optimum.
    """

    device_of: IntArray = field(repr=False)
    certificate: Certificate

    def __post_init__(self) -> None:
        """Freeze the array."""
        object.__setattr__(self, "device_of", frozen_array(self.device_of))
