"""Placements that a search found under the cost model and that wait to be measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray

SIZE = 64
"""Placements kept; what is worse than these would wait for ever."""


@dataclass
class Pool:
    """The best placements found so far that were not asked yet, as plain data.

    Attributes:
        waiting: latency under the model and device of each group, best first.
        asked: keys of the placements asked.
    """

    waiting: list[tuple[float, list[int]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def add(self, choices: IntArray, ms: FloatArray) -> None:
        """Take in placements `[M, G]` that are new, the best of them, with their latencies `[M]`."""
        known = {*self.asked, *(key(choice) for _, choice in self.waiting)}
        for at in np.argsort(ms, kind="stable").tolist():
            if len(self.waiting) >= SIZE and ms[at] >= self.waiting[SIZE - 1][0]:
                break
            if (name := key(choices[at])) not in known:
                known.add(name)
                self.waiting.append((float(ms[at]), choices[at].tolist()))
                self.waiting.sort()
        del self.waiting[SIZE:]

    def take(self, n: int) -> list[IntArray]:
        """Return the `n` best, fewer where there are not so many; they count as asked."""
        taken = [np.array(choice, dtype=np.int64) for _, choice in self.waiting[:n]]
        del self.waiting[:n]
        self.asked += [key(choice) for choice in taken]
        return taken


def key(choice: Sequence[int] | IntArray) -> str:
    """Return a name for a placement `[G]`."""
    return blake2b(np.asarray(choice, dtype=np.int16).tobytes(), digest_size=8).hexdigest()
