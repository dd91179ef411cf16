"""A fit that goes on while measurements come in.

Its work at each of them is bounded by the number of parameters: rows are added to sums, and the shrinkage is chosen
anew only when the measurements have grown by a part. What it returns depends on the measurements and their order, not
on when it was asked, so that a search that is continued goes on as if never interrupted.
"""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.equations import Equations, Rows
from ovplace.cost.calibration.gaussian import FromRows, FromSums, Gaussian, Information, given, sums_are_cheaper
from ovplace.cost.calibration.prior import EXACT, Prior, PriorScale
from ovplace.cost.calibration.shrinkage import TRIED, Shrinkage, shrinkage_of
from ovplace.cost.evaluate.design_matrix import with_parameters
from ovplace.graphs.op_graph import IntArray


class Refit:
    """A cost table that is fitted to measured placements as they come."""

    def __init__(self, table: CostTable) -> None:
        """Start from the costs as profiled."""
        self._table, self._prior = table, Prior.of(table)
        self._equations: list[Equations] = []
        self._first = 0  # the shrinkage was chosen for so many first placements
        self._done = 0
        self._rows = Rows([])
        self._shrinkage = Shrinkage(TRIED[0], np.zeros(0))
        self._sums: Information | None = None  # of all rows, relative to the reference
        self._gaussians: dict[PriorScale, Gaussian] = {}  # given all placements so far

    def __len__(self) -> int:
        """Return the number of placements that it is fitted to."""
        return len(self._equations)

    def add(self, equations: Equations) -> None:
        """Add what a placement says."""
        self._equations.append(equations)
        self._gaussians.clear()

    @property
    def reference_ms(self) -> float:
        """Median latency of the reference in ms."""
        return self._reference_ms(len(self))

    def table(self) -> CostTable:
        """Return the most likely costs."""
        if not self._equations:
            return self._table
        return with_parameters(self._table, self._gaussian().not_negative())

    def drawn(self, rng: np.random.Generator, least: PriorScale) -> CostTable:
        """Return costs drawn from what the placements leave open.

        Args:
            rng: source of randomness.
            least: the profile is taken to be off by so much at least, before any placement: a few that agree with it do
                not make it exact.
        """
        gaussian = self._gaussian(least)
        return with_parameters(self._table, gaussian.not_negative(gaussian.drawn(rng)))

    def _gaussian(self, least: PriorScale = EXACT) -> Gaussian:
        """Return the distribution of the parameters; draws come in series, and forming it takes longer than a draw."""
        if least not in self._gaussians:
            self._gaussians[least] = self._formed(least)
        return self._gaussians[least]

    def _formed(self, least: PriorScale) -> Gaussian:
        if not self._equations:
            return given(self._prior, least, np.empty((0, len(self._prior.mean))), np.empty(0))
        shrinkage, reference_ms = self._up_to_date(), self.reference_ms
        scale = shrinkage.prior_scale.at_least(least)
        if self._sums is not None:
            return FromSums(self._prior, scale, self._sums.over(reference_ms))
        rows, noise = self._rows.over(reference_ms), shrinkage.noise(self._rows.variances)
        return FromRows(self._prior, scale, rows, noise)

    def _up_to_date(self) -> Shrinkage:
        """Take in the placements that were added, and return the shrinkage."""
        first = _shrinkage_count(len(self))
        if first != self._first:
            self._choose(first)
        for equations in self._equations[self._done :]:
            self._take(equations)
        self._done = len(self)
        return self._shrinkage

    def _choose(self, first: int) -> None:
        """Choose the shrinkage for the first placements, and forget the others."""
        self._first = self._done = first
        self._rows, self._sums = Rows(self._equations[:first]), None
        rows = self._rows.over(self._reference_ms(first))
        self._shrinkage = shrinkage_of(self._prior, rows, self._rows.variances)
        self._sum_up()

    def _take(self, equations: Equations) -> None:
        """Add the rows of a placement; those measured before are replaced in the sums."""
        if self._sums is not None and len(known := self._rows.known(equations)):
            self._sums -= self._information(known)
        taken = self._rows.add(equations)
        if self._sums is None:
            self._sum_up()
        else:
            self._sums += self._information(taken)

    def _sum_up(self) -> None:
        """Form the sums once there are so many rows that they are less work."""
        everything = np.arange(len(self._rows))
        if sums_are_cheaper(len(everything), len(self._prior.mean)):
            self._sums = self._information(everything)

    def _information(self, chosen: IntArray) -> Information:
        """Return the sums over some rows, relative to the reference."""
        noise = self._shrinkage.noise(self._rows.variances)
        return Information.of(self._rows.over(1.0, chosen), noise[chosen])

    def _reference_ms(self, count: int) -> float:
        """Return the latency of the reference in ms over the first `count` placements.

        Times are relative to the reference measured with them, which cancels the drift of the devices over time.
        """
        return float(np.median([equations.reference_ms for equations in self._equations[:count]]))


def _shrinkage_count(count: int) -> int:
    """Return the number of first placements for which the shrinkage is chosen, at most `count`.

    It grows by one up to eight, then by an eighth at a time: the choice takes a few dozen times as long as the fit.
    """
    first = 0
    while (more := first + 1 + first // 8) <= count:
        first = more
    return first
