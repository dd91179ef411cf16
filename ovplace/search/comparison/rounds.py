"""Rounds of measurements in turns, and the intervals that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.core.statistics import Interval, latency_interval, ratio_interval
from ovplace.core.verdict import LEVEL
from ovplace.graphs.op_graph import FloatArray
from ovplace.session.measurer import latency_ratio

UNSTABLE = 1.3
"""Candidates whose ratio differs by this factor between rounds are measured in half as many rounds again. In simulated
comparisons of six rounds that is 1 in 100 where compilations differ by 4 %, and 9 in 100 where they differ by 5 %."""

MIN_ROUNDS = 2
"""Rounds that an interval needs."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a final comparison, in which all candidates took turns.

    Attributes:
        measured: for each round, the measurement of each candidate by its name.
        planned: number of rounds that were to be measured in any case; more follow where these differ much.
        failed: the same for rounds in which the placement or the best baseline failed. They count for nothing.
    """

    measured: tuple[Mapping[str, Measurement], ...] = ()
    planned: int = 0
    failed: tuple[Mapping[str, Measurement], ...] = ()

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.measured)

    def of(self, name: str) -> tuple[Measurement, ...]:
        """Return a candidate's measurements, without failures; none of a candidate that did not take part."""
        return tuple(m for measured in self.measured if (m := measured.get(name)) and m.ok)

    def failures(self, name: str) -> tuple[Measurement, ...]:
        """Return a candidate's failures, also those in rounds that do not count."""
        return tuple(m for measured in (*self.measured, *self.failed) if (m := measured.get(name)) and not m.ok)

    def is_wrong(self, name: str) -> bool:
        """Return whether the outputs of a candidate were too far off in any round: it must not be the answer."""
        return any(m.error == ErrorKind.OUTPUT_MISMATCH for m in self.failures(name))

    def ratios(self, name: str, other: str) -> FloatArray:
        """Return the ratios of two candidates in the rounds in which both worked.

        Args:
            name: the numerator.
            other: the denominator.
        """
        return np.array([latency_ratio(a, b) for a, b in _pairs(self.measured, name, other)])

    def interval(self, name: str, other: str, level: float = LEVEL) -> Interval | None:
        """Return the ratio of two candidates; None where too few rounds have both.

        Its spread is that of the planned rounds: whether more follow depends on the spread, and their own would be
        too small too often (Stein, "A two-sample test for a linear hypothesis whose power is independent of the
        variance", 1945).

        Args:
            name: the numerator.
            other: the denominator.
            level: probability that the interval holds the truth.
        """
        pairs = _pairs(self.measured, name, other)
        planned = len(_pairs(self.measured[: self.planned], name, other))
        if planned < MIN_ROUNDS:
            return None
        shared = [min(len(a.blocks), len(b.blocks)) for a, b in pairs]
        numerator = [a.block_medians_ms[:n] for (a, _), n in zip(pairs, shared, strict=True)]
        denominator = [b.block_medians_ms[:n] for (_, b), n in zip(pairs, shared, strict=True)]
        return ratio_interval(numerator, denominator, planned, level)

    def latency(self, name: str) -> Interval | None:
        """Return the typical latency of a candidate in ms; None where too few rounds have it.

        Two of them have the ratio that `interval` gives where both candidates worked in the same rounds.
        """
        planned = len(replace(self, measured=self.measured[: self.planned]).of(name))
        if planned < MIN_ROUNDS:
            return None
        return latency_interval([m.block_medians_ms for m in self.of(name)], planned)

    def is_unstable(self, name: str, others: Sequence[str], start: int = 0) -> bool:
        """Return whether the ratio of a candidate to one of the others differs much between rounds.

        Args:
            name: the candidate.
            others: what it is compared with.
            start: the first round that counts.
        """
        later = replace(self, measured=self.measured[start:])
        spreads = [found.max() / found.min() for other in others if len(found := later.ratios(name, other)) > 1]
        return max(spreads, default=1.0) > UNSTABLE

    def most_unstable(self, names: Sequence[str]) -> tuple[str, float, float]:
        """Return the candidate whose latency differs most between rounds, with the least and the largest in ms."""
        medians = {name: [m.median_ms for m in found] for name in names if (found := self.of(name))}
        worst = max(medians, key=lambda name: max(medians[name]) / min(medians[name]))
        return worst, min(medians[worst]), max(medians[worst])


def _pairs(
    measured: Sequence[Mapping[str, Measurement]], name: str, other: str
) -> list[tuple[Measurement, Measurement]]:
    """Return the measurements of two candidates in the rounds in which both worked."""
    both = [(m[name], m[other]) for m in measured if name in m and other in m]
    return [(a, b) for a, b in both if a.ok and b.ok]
