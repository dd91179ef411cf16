"""Equations about the costs of a model, each measured once or several times."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.shrinkage import usual_noise
from ovplace.cost.evaluate.design_matrix import design_matrix, stage_matrix
from ovplace.cost.evaluate.stages import Stages
from ovplace.graphs.op_graph import FloatArray, IntArray

REPEATS = 4
"""Most repetitions of a row that lower its variance: the rest of its error is the same every time."""

CLOCK_MS = 0.01
"""Standard deviation of the time of a stage however short it is: the start of an inference, and the clock."""


@dataclass(frozen=True, eq=False)
class Equations:
    """Linear equations about the costs, from one measured placement: some terms, and the time that they took.

    Attributes:
        counts: how often each parameter counts in each row, `[R, P]`.
        relative: time of each row, relative to the reference measured at the same time, `[R]`.
        variances: variance of the relative error of each time, `[R]`.
        reference_ms: latency of the reference in ms.
    """

    counts: FloatArray
    relative: FloatArray
    variances: FloatArray
    reference_ms: float

    @classmethod
    def of_whole(cls, table: CostTable, device_of: IntArray, relative: float, reference_ms: float) -> Equations:
        """Return the one equation of a latency.

        Args:
            table: the costs as profiled.
            device_of: device of each group, `[G]`; each where it can run.
            relative: latency relative to the reference.
            reference_ms: latency of the reference in ms.
        """
        return cls(design_matrix(table, device_of[None]), np.array([relative]), usual_noise(1), reference_ms)

    @classmethod
    def of_stages(
        cls, table: CostTable, device_of: IntArray, stages: Stages, stages_ms: FloatArray, whole: tuple[float, float]
    ) -> Equations:
        """Return an equation for each stage, and one for the whole.

        What the chain takes besides its stages is shared by all of them alike, since each hands over once; noise that
        makes them longer than the whole is taken off in proportion. So the times of the stages add up to that of the
        whole. Their variances do as well: the shorter a stage, the larger its relative error. The same operations may
        take another time in another submodel, so stages err more than by noise; their sum errs less, which is why the
        whole counts besides (`python -m benchmarks run fidelity`).

        Args:
            table: the costs as profiled.
            device_of: device of each group, `[G]`; each where it can run.
            stages: stages of the placement.
            stages_ms: time of each stage in ms, `[S]`; positive.
            whole: latency of the whole relative to the reference's, and in ms.
        """
        ratio, latency_ms = whole
        besides_ms = (latency_ms - stages_ms.sum()) / len(stages_ms)
        found_ms = stages_ms + besides_ms if besides_ms > 0 else stages_ms * (latency_ms / stages_ms.sum())
        of_whole = cls.of_whole(table, device_of, ratio, latency_ms / ratio)
        if len(stages_ms) == 1:
            return of_whole
        shares = usual_noise(len(found_ms)) * latency_ms / found_ms
        variances = shares + ((CLOCK_MS + abs(besides_ms)) / found_ms) ** 2
        return cls(
            np.concatenate([stage_matrix(table, device_of, stages), of_whole.counts]),
            np.concatenate([found_ms / of_whole.reference_ms, of_whole.relative]),
            np.concatenate([variances, of_whole.variances]),
            of_whole.reference_ms,
        )


class Rows:
    """Distinct rows of equations, each with the mean of the times measured for it."""

    def __init__(self, equations: Sequence[Equations]) -> None:
        """Start with the rows of some equations."""
        self._counts = np.empty((0, 0))
        self._relative, self._variances, self._repeats = np.empty((3, 0))
        self._at: dict[bytes, int] = {}
        for one in equations:
            self.add(one)

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return len(self._at)

    def known(self, equations: Equations) -> IntArray:
        """Return the indices of those rows of `equations` that are there, `[K]`."""
        found = (self._at.get(_key(row)) for row in equations.counts)
        return np.array([i for i in found if i is not None], dtype=np.int64)

    def add(self, equations: Equations) -> IntArray:
        """Add rows, or further times of rows that are there.

        Args:
            equations: what one placement says.

        Returns:
            Index of each of them, `[R]`.
        """
        found = [self._at.setdefault(_key(row), len(self._at)) for row in equations.counts]
        self._reserve(len(self._at), equations.counts.shape[1])
        for i, row, relative, variance in zip(
            found, equations.counts, equations.relative, equations.variances, strict=True
        ):
            self._counts[i] = row
            self._repeats[i] += 1
            self._relative[i] += (relative - self._relative[i]) / self._repeats[i]
            self._variances[i] += (variance - self._variances[i]) / self._repeats[i]
        return np.array(found, dtype=np.int64)

    def over(self, reference_ms: float, chosen: slice | IntArray = slice(None)) -> FloatArray:
        """Return rows whose terms, in ms, measure 1, `[R, P]`.

        Args:
            reference_ms: latency of the reference in ms.
            chosen: which rows.
        """
        n = len(self)
        return np.asarray(self._counts[:n][chosen] / (reference_ms * self._relative[:n][chosen])[:, None])

    @property
    def variances(self) -> FloatArray:
        """Variance of the relative error of each row, `[R]`."""
        n = len(self)
        return np.asarray(self._variances[:n] / np.minimum(self._repeats[:n], REPEATS))

    def _reserve(self, count: int, width: int) -> None:
        have = len(self._relative)
        if count <= have:
            return
        more = max(count, 2 * have) - have
        self._counts = np.concatenate([self._counts.reshape(have, width), np.zeros((more, width))])
        self._relative, self._variances, self._repeats = (
            np.concatenate([values, np.zeros(more)]) for values in (self._relative, self._variances, self._repeats)
        )


def _key(row: FloatArray) -> bytes:
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()
