"""The protocol by which a run measures, here or on the machines of a fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.measuring.child import Method


class Pool(Protocol):
    """Measures candidates of one job in a process of one machine; its methods block.

    `ovplace.measuring.process_pool.ProcessPool` says what each method raises.
    """

    def ask(self, method: Method, *arguments: Any) -> Any:
        """Return the answer of a backend method other than `measure`.

        Args:
            method: the method.
            *arguments: its arguments.
        """

    def facts(self) -> Mapping[str, str]:
        """Return the backend's facts."""

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Return one measurement for each candidate, timed in turns; a hang or a crash fails all of them.

        Args:
            candidates: placements on parts or on the whole model.
            spec: warm-up, repeats, blocks and deadline.
        """

    def start(self) -> None:
        """Start the process now rather than with the next request."""

    def preload(self) -> None:
        """Let a process import what it needs while the caller does something else."""

    def renew(self) -> None:
        """Replace the process now by a fresh one."""

    def close(self) -> None:
        """End the process, in the middle of a request if need be."""
