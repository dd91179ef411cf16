"""The measurements of a profile, kept for later runs of the model, which time what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ovplace.core.problem import Problem
from ovplace.cost.calibration.links import SinglePiece, SplitPiece
from ovplace.cost.calibration.part_layout import PartTask, PartTimes
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.profiling.links import CUTS, PIECES, LinkSamples
from ovplace.store.cache import find_profile, keep_profile

FORMAT = 3
"""Version of kept profiles; those of another version are measured anew. In version 2, lost cuts counted as measured."""


@dataclass(frozen=True, eq=False)
class TimedParts:
    """The measurements of a profile.

    Attributes:
        unit_of: unit of each group, `[G]`.
        times: measured times of parts of these units.
        links: measurements of the link model.
        seconds: what all of it took.
    """

    unit_of: IntArray
    times: PartTimes = field(default_factory=PartTimes)
    links: LinkSamples = field(default_factory=LinkSamples)
    seconds: float = 0.0

    @classmethod
    def find(cls, key: str, problem: Problem) -> TimedParts | None:
        """Return what `keep` stored; None if there is nothing, or it is damaged.

        Args:
            key: what the profile depends on, hashed.
            problem: whose groups were timed.
        """
        return cls.restored(find_profile(key), problem)

    @classmethod
    def restored(cls, data: object, problem: Problem) -> TimedParts | None:
        """Return what `to_dict` returned; None if it is nothing, or damaged.

        Args:
            data: what JSON held.
            problem: whose groups were timed.
        """
        try:
            found = cls.from_dict(data) if isinstance(data, Mapping) else None
        except ValueError:
            return None
        return found if found and found._fits(problem) else None

    def with_those_of(self, other: TimedParts | None) -> TimedParts:
        """Return these measurements with another run's; of other units, those where more units are timed."""
        if other is None:
            return self
        links = max(self.links, other.links, key=lambda links: links.cuts)
        if np.array_equal(other.unit_of, self.unit_of):
            return replace(self, times=PartTimes(other.times.ms | self.times.ms), links=links)
        return replace(max(self, other, key=TimedParts._timed_units), links=links)

    def _timed_units(self) -> int:
        return sum(len(task.units) == 1 for task in self.times.ms)

    def keep(self, key: str) -> None:
        """Store it in the user's cache.

        Args:
            key: what the profile depends on, hashed.
        """
        keep_profile(key, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, the inverse of `from_dict`; a part that failed has no times."""
        return {
            "format": FORMAT,
            "unit_of": self.unit_of.tolist(),
            "times": [
                [list(task.units), task.device, list(ms) if np.isfinite(ms).all() else None]
                for task, ms in self.times.ms.items()
            ],
            "alone": [_plain_single(piece) for piece in self.links.alone],
            "splits": [_plain_split(piece) for piece in self.links.splits],
            "cuts": self.links.cuts,
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TimedParts:
        """Build it from what `to_dict` returned.

        Raises:
            ValueError: the data are of another format, or damaged.
        """
        try:
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']}")
            times = {
                PartTask(tuple(map(int, units)), int(device)): _range(ms) if ms else (np.inf, np.inf, np.inf)
                for units, device, ms in data["times"]
            }
            splits = [_split(piece) for piece in data["splits"]]
            links = LinkSamples([_single(piece) for piece in data["alone"]], splits, int(data["cuts"]))
            return cls(_whole(data["unit_of"]), PartTimes(times), links, float(data["seconds"]))
        except (LookupError, TypeError, AttributeError, OverflowError, MemoryError) as error:
            raise ValueError(f"no profile: {error}") from error

    def _fits(self, problem: Problem) -> bool:
        """Return whether it can be of this problem: a damaged file may have any numbers."""
        d, units = len(problem.devices), np.unique(self.unit_of)
        known_sizes = {tensor_bytes for tensor_bytes, _ in PIECES}
        return (
            self.unit_of.shape == (problem.n_groups,)
            and np.array_equal(units, np.arange(len(units)))
            and all(0 <= unit < len(units) for task in self.times.ms for unit in task.units)
            and all(0 <= device < d for device in self._devices())
            and all(piece.submodels.shape == (d,) and piece.tensors.shape == (d, d) for piece in self.links.splits)
            and all(piece.tensor_bytes in known_sizes for piece in self.links.splits)
            and 0 <= self.links.cuts <= len(CUTS)
        )

    def _devices(self) -> Iterator[int]:
        yield from (task.device for task in self.times.ms)
        yield from (piece.device for piece in self.links.alone)
        yield from (piece.device for split in self.links.splits for piece in split.stretches)


def _plain_single(piece: SinglePiece) -> list[Any]:
    return [piece.device, piece.n_ops, piece.ms.tolist()]


def _single(data: Sequence[Any]) -> SinglePiece:
    device, n_ops, ms = data
    return SinglePiece(int(device), int(n_ops), _positive(ms))


def _plain_split(piece: SplitPiece) -> list[Any]:
    stretches = [_plain_single(stretch) for stretch in piece.stretches]
    return [piece.ms.tolist(), stretches, piece.submodels.tolist(), piece.tensors.tolist(), piece.tensor_bytes]


def _split(data: Sequence[Any]) -> SplitPiece:
    ms, stretches, submodels, tensors, tensor_bytes = data
    singles = tuple(_single(stretch) for stretch in stretches)
    return SplitPiece(_positive(ms), singles, _whole(submodels), _whole(tensors), int(tensor_bytes))


def _range(data: Sequence[Any]) -> tuple[float, float, float]:
    low, median, high = _positive(data).tolist()
    return low, median, high


def _positive(data: Sequence[Any]) -> FloatArray:
    values = np.array(data, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"no times: {data}")
    return values


def _whole(data: Sequence[Any]) -> IntArray:
    return np.array(data, dtype=np.int64)
