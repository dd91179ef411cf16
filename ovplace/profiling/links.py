"""Measuring the costs of cuts between the devices of a run, on a small model made for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import permutations, product

import numpy as np

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.cost.calibration.links import Links, SinglePiece, SplitPiece, fit_links, link_intervals
from ovplace.graphs.op_graph import IntArray
from ovplace.ir.parts.link_piece import STAGES, Piece

PIECES = ((1 << 12, 1), (1 << 22, 1), (1 << 12, 4), (1 << 18, 1))
"""Tensor bytes and branches of the pieces, the most informative first: small for latency, large for bandwidth."""

_HALVES = ((0, 1), (2, 3))
_THERE_AND_BACK = ((0,), (1, 2), (3,))
"""Each branch of the middle is a submodel of its own, which separates the overheads of the two devices."""

Ask = Callable[[Sequence[Candidate], MeasureSpec], list[Measurement]]


@dataclass(frozen=True, eq=False)
class MeasuredLinks:
    """The links between the devices of a run, with the effort and the precision of measuring them.

    Attributes:
        links: the terms of the cost model.
        cuts: cuts timed between devices, of those there are.
        interval: `[lowest, highest]` of each term, block by block.
        is_complete: whether there was time for all cuts.
    """

    links: Links
    cuts: str
    interval: Mapping[str, list[object]]
    is_complete: bool


@dataclass
class LinkSamples:
    """Measurements of the link model.

    Attributes:
        alone: pieces of the smallest tensors on one device each.
        splits: pieces cut between devices.
        pieces: how many pieces were measured; a cut that failed is in neither list.
    """

    alone: list[SinglePiece] = field(default_factory=list)
    splits: list[SplitPiece] = field(default_factory=list)
    pieces: int = 0

    def fitted(self, n_devices: int) -> MeasuredLinks:
        """Return the links of D devices."""
        low, high = link_intervals(n_devices, self.alone, self.splits)
        return MeasuredLinks(
            links=fit_links(n_devices, self.alone, self.splits),
            cuts=f"{len(self.splits)} of {(len(PIECES) + 1) * n_devices * (n_devices - 1)}",
            interval={f.name: [getattr(low, f.name).tolist(), getattr(high, f.name).tolist()] for f in fields(Links)},
            is_complete=self.pieces == len(PIECES),
        )


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

    def measure(self, number: int, ask: Ask, spec: MeasureSpec, into: LinkSamples) -> None:
        """Measure one piece cut in two between all pairs of devices; one with branches also with these elsewhere.

        Args:
            number: index of the piece.
            ask: measures candidates in turns.
            spec: how long and how often.
            into: collects the measurements.
        """
        self._measure(number, _HALVES, ask, spec, into)
        if self.pieces[number].branches > 1:
            self._measure(number, _THERE_AND_BACK, ask, spec, into)
        into.pieces += 1

    def _measure(
        self, number: int, stretches: Sequence[tuple[int, ...]], ask: Ask, spec: MeasureSpec, into: LinkSamples
    ) -> None:
        piece, every = self.pieces[number], range(len(self.devices))
        alone = list(product(stretches, every))
        splits = list(permutations(every, 2))
        candidates = [self._alone(piece, stages, device) for stages, device in alone]
        candidates += [self._split(piece, stretches, pair) for pair in splits]
        measured = ask(candidates, spec)
        found = {
            key: SinglePiece(key[1], len(candidate.part), m.block_medians_ms)
            for key, candidate, m in zip(alone, candidates, measured, strict=False)
            if m.ok
        }
        if piece.tensor_bytes == self.pieces[0].tensor_bytes:
            into.alone += found.values()
        for pair, m in zip(splits, measured[len(alone) :], strict=True):
            parts = [found.get((stages, pair[i % 2])) for i, stages in enumerate(stretches)]
            if m.ok and all(parts):
                submodels = np.array([m.submodels.count(name) for name in self.devices], dtype=np.int64)
                kept = tuple(part for part in parts if part)
                tensors = self._tensors(piece, stretches, pair)
                into.splits.append(SplitPiece(m.block_medians_ms, kept, submodels, tensors, piece.tensor_bytes))

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


def _operations(piece: Piece, stages: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(op for stage in stages for op in piece.stages[stage]))
