"""A fault that a process brings upon itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """Nothing fails; subclasses say what does."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that the process gets."""
        return {}

    def arm(self) -> None:
        """Prepare the process in which this runs, before its command begins."""


NOTHING = Fault()
