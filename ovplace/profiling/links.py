"""Measuring the costs of cuts between the devices of a run, on a small model made for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.cost.calibration.links import SinglePiece, SplitPiece
from ovplace.graphs.op_graph import IntArray
from ovplace.ir.parts.link_piece import STAGES, Piece
from ovplace.session.measurer import was_lost

PIECES = ((1 << 12, 1), (1 << 22, 1), (1 << 12, 4), (1 << 18, 1))
"""Tensor bytes and branches of the pieces, the most informative first: small for latency, large for bandwidth."""

_HALVES = ((0, 1), (2, 3))
"""One cut: two stages of the piece on each side."""

_THERE_AND_BACK = ((0,), (1, 2), (3,))
"""Each branch of the middle is a submodel of its own, which separates the overheads of the two devices."""

CUTS = tuple(
    (number, stretches)
    for number, (_, branches) in enumerate(PIECES)
    for stretches in ((_HALVES, _THERE_AND_BACK) if branches > 1 else (_HALVES,))
)
"""Pieces, and where each is cut, between all pairs of devices."""

Ask = Callable[[Sequence[Candidate], MeasureSpec], list[Measurement]]


@dataclass
class LinkSamples:
    """Measurements of the link model.

    Attributes:
        alone: pieces of the smallest tensors on one device each.
        splits: pieces cut between devices.
        cuts: how many of `CUTS` were measured, from the first on; what failed by itself is in neither list.
    """

    alone: list[SinglePiece] = field(default_factory=list)
    splits: list[SplitPiece] = field(default_factory=list)
    cuts: int = 0


@dataclass(frozen=True)
class LinkBench:
    """The small model with the devices between which it is cut.

    Attributes:
        n_ops: operations of the model.
        pieces: what it consists of; the first one has the smallest tensors.
        devices: names of the devices.
        staged: whether what is cut runs stage by stage, which compiles each half once for all that share it.
    """

    n_ops: int
    pieces: tuple[Piece, ...]
    devices: tuple[str, ...]
    staged: bool = False

    def measure(self, cut: int, ask: Ask, spec: MeasureSpec, so_far: LinkSamples) -> LinkSamples:
        """Measure a piece cut between all pairs of devices, and its stretches alone.

        Args:
            cut: index in `CUTS`.
            ask: measures candidates in turns; what it raises leaves the cut to a later call.
            spec: how long and how often.
            so_far: earlier measurements.

        Returns:
            Those with this cut's.
        """
        number, stretches = CUTS[cut]
        piece, every = self.pieces[number], range(len(self.devices))
        single = list(product(stretches, every))
        pairs = list(permutations(every, 2))
        candidates = [self._alone(piece, stages, device) for stages, device in single]
        candidates += [self._split(piece, stretches, pair) for pair in pairs]
        measured = _in_turns_or_alone(candidates, ask, spec)
        found = {
            key: SinglePiece(key[1], len(candidate.part), m.block_medians_ms)
            for key, candidate, m in zip(single, candidates, measured, strict=False)
            if m.ok
        }
        alone, splits = list(so_far.alone), list(so_far.splits)
        if piece.tensor_bytes == self.pieces[0].tensor_bytes:
            alone += found.values()
        for pair, m in zip(pairs, measured[len(single) :], strict=True):
            parts = [found.get((stages, pair[i % 2])) for i, stages in enumerate(stretches)]
            if m.ok and all(parts):
                submodels = np.array([m.submodels.count(name) for name in self.devices], dtype=np.int64)
                kept = tuple(part for part in parts if part)
                tensors = self._tensors(piece, stretches, pair)
                splits.append(SplitPiece(m.block_medians_ms, kept, submodels, tensors, piece.tensor_bytes))
        return LinkSamples(alone, splits, so_far.cuts + 1)

    def _tensors(self, piece: Piece, stretches: Sequence[tuple[int, ...]], pair: tuple[int, int]) -> IntArray:
        """Return how many tensors pass between devices that alternate from stretch to stretch, `[D, D]`."""
        tensors = np.zeros((len(self.devices),) * 2, dtype=np.int64)
        for i, stretch in enumerate(stretches[:-1]):
            tensors[pair[i % 2], pair[1 - i % 2]] += 1 if stretch[-1] == 0 else piece.branches
        return tensors

    def _alone(self, piece: Piece, stages: Sequence[int], device: int) -> Candidate:
        placement = Placement.uniform(self.n_ops, self.devices[device], self.devices)
        return Candidate(f"{piece} {stages}", placement, part=_operations(piece, stages))

    def _split(self, piece: Piece, stretches: Sequence[tuple[int, ...]], pair: tuple[int, int]) -> Candidate:
        device_of = np.full(self.n_ops, pair[0])
        for i, stages in enumerate(stretches):
            device_of[list(_operations(piece, stages))] = pair[i % 2]
        placement = Placement(device_of, self.devices)
        return Candidate(f"{piece} split", placement, part=_operations(piece, range(STAGES)), staged=self.staged)


def _in_turns_or_alone(candidates: Sequence[Candidate], ask: Ask, spec: MeasureSpec) -> list[Measurement]:
    """Measure candidates in turns; if that is lost, one by one, so that a culprit fails alone, and not by chance."""
    measured = ask(candidates, spec)
    if not was_lost(measured):
        return measured
    return [ask([candidate], spec)[0] for candidate in candidates]


def _operations(piece: Piece, stages: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(op for stage in stages for op in piece.stages[stage]))
