"""Queue of candidates: the best placements by the cost model that have not been measured."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.log import Seen

SIZE = 64
"""Capacity of the queue; slower candidates would hardly ever be measured."""


@dataclass
class CandidateQueue:
    """The best placements not proposed so far.

    Attributes:
        waiting: predicted latency in ms and device of each group, fastest first.
        asked: keys of the placements proposed.
    """

    waiting: list[tuple[float, list[int]]] = field(default_factory=list)
    asked: Seen = field(default_factory=Seen)

    def add(self, choices: IntArray, ms: FloatArray) -> None:
        """Add new placements, up to the capacity.

        Args:
            choices: device of each group, `[M, G]`.
            ms: predicted latencies, ms `[M]`.
        """
        waiting = {key(choice) for _, choice in self.waiting}
        for at in np.argsort(ms, kind="stable").tolist():
            if len(self.waiting) >= SIZE and ms[at] >= self.waiting[SIZE - 1][0]:
                break
            if (name := key(choices[at])) not in waiting and name not in self.asked:
                waiting.add(name)
                insort(self.waiting, (float(ms[at]), choices[at].tolist()))
        del self.waiting[SIZE:]

    def take(self, n: int) -> list[IntArray]:
        """Remove and return the `n` fastest, or all if there are fewer; they count as proposed."""
        taken = [np.array(choice, dtype=np.int64) for _, choice in self.waiting[:n]]
        del self.waiting[:n]
        for choice in taken:
            self.asked.add(key(choice))
        return taken

    def state(self) -> dict[str, object]:
        """Return plain data, the inverse of `of`."""
        return {"waiting": list(self.waiting), **self.asked.state()}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> CandidateQueue:
        """Return the queue of a state, which may hold more."""
        return cls([(ms, choice) for ms, choice in state["waiting"]], Seen.of(state))


def key(choice: Sequence[int] | IntArray) -> str:
    """Return a hash of the devices of groups `[G]`."""
    return blake2b(np.asarray(choice, dtype=np.int16).tobytes(), digest_size=8).hexdigest()
