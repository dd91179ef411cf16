"""A mixed-integer linear program that grows: columns, then rows, solved by HiGHS as often as wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from ovplace.graphs.op_graph import FloatArray, IntArray


@dataclass(frozen=True)
class Outcome:
    """What solving the program came to.

    Attributes:
        values: value of each column, `[C]`; None if no solution was found in time, or there is none.
        bound: no solution's objective is lower; minus infinity if nothing is known.
        infeasible: true where it is proven that there is no solution.
    """

    values: FloatArray | None = field(repr=False)
    bound: float
    infeasible: bool


class Program:
    """Columns and rows of `minimise c x`, `low <= A x <= high`, `0 <= x <= upper`; some x are whole numbers."""

    def __init__(self, scale: float = 1.0) -> None:
        """Start empty.

        Args:
            scale: size of the objective, at least roughly. HiGHS gets costs at which it is 1000, so that its absolute
                tolerances (1e-6) are small in comparison.
        """
        self._scale = scale / 1000 if scale > 0 else 1.0
        self._cost: list[FloatArray] = []
        self._upper: list[FloatArray] = []
        self._integer: list[IntArray] = []
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._low: list[FloatArray] = []
        self._high: list[FloatArray] = []
        self.n_columns = self.n_rows = 0

    def columns(self, cost: ArrayLike, upper: ArrayLike = 1.0, integer: bool = False) -> IntArray:
        """Add columns and return their numbers in the shape of `cost`.

        Args:
            cost: coefficient of each column in the objective, of any shape.
            upper: upper bound of each column, of a shape that broadcasts to that of `cost`.
            integer: whether the columns are whole numbers.
        """
        array = np.asarray(cost, dtype=np.float64)
        numbers = self.n_columns + np.arange(array.size)
        self._cost.append(array.reshape(-1))
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), array.shape).reshape(-1))
        self._integer.append(np.full(array.size, int(integer)))
        self.n_columns += array.size
        return np.asarray(numbers.reshape(array.shape), dtype=np.int64)

    def rows(self, terms: Sequence[tuple[IntArray, ArrayLike]], low: ArrayLike = -inf, high: ArrayLike = inf) -> None:
        """Add R rows, each with the sum of all terms between `low` and `high`.

        Args:
            terms: columns `[R]` or `[R, K]` with their coefficients, of a shape that broadcasts to theirs.
            low: lower end of each row, `[R]` or a number.
            high: upper end of each row, `[R]` or a number.
        """
        if not (count := len(terms[0][0])):
            return
        for columns, coefficients in terms:
            wide = columns.reshape(count, -1)
            values = np.broadcast_to(np.asarray(coefficients, dtype=np.float64), columns.shape).reshape(-1)
            row = np.repeat(self.n_rows + np.arange(count), wide.shape[1])
            self._entries.append((row, wide.reshape(-1), values))
        self._low.append(np.broadcast_to(np.asarray(low, dtype=np.float64), count))
        self._high.append(np.broadcast_to(np.asarray(high, dtype=np.float64), count))
        self.n_rows += count

    def row(self, terms: Sequence[tuple[IntArray, ArrayLike]], low: float = -inf, high: float = inf) -> None:
        """Add one row with the sum of all terms between `low` and `high`.

        Args:
            terms: columns `[K]` with their coefficients.
            low: lower end.
            high: upper end.
        """
        self.rows([(columns.reshape(1, -1), coefficients) for columns, coefficients in terms], low, high)

    def solve(self, time_limit_s: float, gap: float = 0.0, relaxed: bool = False) -> Outcome:
        """Minimise.

        Args:
            time_limit_s: after this time the best solution so far is returned.
            gap: relative difference of solution and bound that is good enough.
            relaxed: let whole numbers be fractions.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        row, column, value = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        whole = np.concatenate(self._integer)
        matrix = csr_array((value, (row, column)), shape=(self.n_rows, self.n_columns))
        found = milp(
            np.concatenate(self._cost) / self._scale,
            integrality=0 * whole if relaxed else whole,
            bounds=Bounds(0.0, np.concatenate(self._upper)),
            constraints=LinearConstraint(matrix, np.concatenate(self._low), np.concatenate(self._high)),
            options={"time_limit": max(time_limit_s, 0.0), "mip_rel_gap": gap},
        )
        bound = found.mip_dual_bound if not relaxed else found.fun if found.status == 0 else None
        return Outcome(found.x, -inf if bound is None or np.isnan(bound) else bound * self._scale, found.status == 2)
