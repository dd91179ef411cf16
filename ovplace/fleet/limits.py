"""What a scheduler lets through. It tells its workers and searches, which hold to it and say where they would not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ovplace.errors import BackendError

LARGEST_MIB = 64
"""Longest message unless the scheduler is started otherwise."""

MOST_REQUESTS = 4096
"""Requests of one search unless the scheduler is started otherwise: enough for 3,000 machines."""


@dataclass(frozen=True)
class FleetLimits:
    """Limits of a fleet.

    Attributes:
        largest_mib: longest message, MiB: a peer must not fill the memory.
        most_requests: requests of one search that wait or run at the scheduler; further ones wait in the search.
    """

    largest_mib: float = LARGEST_MIB
    most_requests: int = MOST_REQUESTS

    @property
    def largest_bytes(self) -> int:
        """Longest message, bytes."""
        return int(self.largest_mib * 2**20)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the inverse of `from_dict`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FleetLimits:
        """Build limits from what `to_dict` returned.

        Raises:
            Exception: the data are of no limits.
        """
        return cls(float(data["largest_mib"]), int(data["most_requests"]))


class MessageTooLongError(BackendError):
    """A message is longer than the limit."""

    def __init__(self, n_bytes: int, limit_bytes: int) -> None:
        """Say how long it is.

        Args:
            n_bytes: its length, bytes.
            limit_bytes: the limit, bytes.
        """
        super().__init__(
            f"a message of {n_bytes / 2**20:.1f} MiB is longer than the {limit_bytes / 2**20:g} MiB that this fleet "
            "lets through; start 'ovplace cluster scheduler' with a larger --largest-message"
        )
