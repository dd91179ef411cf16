"""Machines of a fleet that are slow or drift: each tells by the reference that it measures beside every placement."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from statistics import median

from ovplace.core.result.labels import short_ms

SLOW = 1.5
"""Latency of the reference on a machine, over that on its like machines, from which it is set aside: it is busy, hot or
broken, and its ratios are not those of the others."""

DRIFT = 1.5
"""Latency of the reference on a machine, over what it was there at first, from which it is set aside."""

ENOUGH = 4
"""Measurements of the reference that a median is of."""


@dataclass
class MachineWatch:
    """The latencies of the reference on each machine.

    Attributes:
        reference: its name, as users see it.
        aside: why machines were set aside, by name.
    """

    reference: str
    aside: dict[str, str] = field(default_factory=dict)
    _found_ms: dict[str, list[float]] = field(default_factory=dict)  # the last ones
    _first_ms: dict[str, float] = field(default_factory=dict)  # median of the first ones
    _now_ms: dict[str, float] = field(default_factory=dict)  # median of the last ones, of machines not set aside

    def observe(self, machine: str, reference_ms: float, n_machines: int) -> bool:
        """Note what the reference took on a machine; return whether that machine has to be set aside now.

        Args:
            machine: its name.
            reference_ms: the reference's latency there, in ms.
            n_machines: how many measure. As long as less than half of them are known beside this one, none is judged:
                the first to be known may be the odd one.
        """
        if machine in self.aside or not isfinite(reference_ms):
            return False
        found = self._found_ms[machine] = [*self._found_ms.get(machine, []), reference_ms][-ENOUGH:]
        if len(found) < ENOUGH:
            return False
        self._now_ms[machine] = median(found)
        self._first_ms.setdefault(machine, median(found))
        if 2 * (len(self._now_ms) - 1) >= n_machines and (why := self._fault(machine)):
            self.set_aside(machine, why)
        return machine in self.aside

    def set_aside(self, machine: str, why: str) -> None:
        """Note that a machine is set aside, so that the others are not compared with it any more.

        Args:
            machine: its name.
            why: the reason, for the result.
        """
        self.aside[machine] = why
        self._now_ms.pop(machine, None)

    def _fault(self, machine: str) -> str:
        now_ms, at_first_ms = self._now_ms[machine], self._first_ms[machine]
        others = [ms for name, ms in self._now_ms.items() if name != machine]
        if now_ms > SLOW * (usual_ms := median(others)):
            return f"{self.reference} took {short_ms(now_ms)} ms there, {short_ms(usual_ms)} ms on the others"
        if now_ms > DRIFT * at_first_ms:
            return f"{self.reference} took {short_ms(at_first_ms)} ms there at first, {short_ms(now_ms)} ms later"
        return ""
