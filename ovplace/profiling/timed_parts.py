"""What a profile has measured, kept for later runs of the model, which time what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ovplace.core.problem import Problem
from ovplace.cost.calibration.links import Links
from ovplace.cost.calibration.part_layout import PartTask, PartTimes
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.profiling.links import MeasuredLinks
from ovplace.store.cache import find_profile, keep_profile

FORMAT = 2
"""Version of kept profiles; those of another version are measured anew."""


@dataclass(frozen=True, eq=False)
class TimedParts:
    """The measurements of a profile.

    Attributes:
        unit_of: unit of each group, `[G]`.
        times: of the parts that were timed, in these units.
        links: between the devices.
        seconds: what all of it took.
    """

    unit_of: IntArray
    times: PartTimes
    links: MeasuredLinks
    seconds: float

    @classmethod
    def find(cls, key: str, problem: Problem) -> TimedParts | None:
        """Return what `keep` stored; None if there is nothing, or it is damaged.

        Args:
            key: what the profile depends on, hashed.
            problem: whose groups were timed.
        """
        data = find_profile(key)
        try:
            found = cls.from_dict(data) if data else None
        except ValueError:
            return None
        shape = (problem.n_groups, len(problem.devices))
        return found if found and shape == (len(found.unit_of), len(found.links.links.submodel_ms)) else None

    def keep(self, key: str) -> None:
        """Store it in the user's cache.

        Args:
            key: what the profile depends on, hashed.
        """
        keep_profile(key, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, the inverse of `from_dict`; a part that failed has no times."""
        measured = self.links
        return {
            "format": FORMAT,
            "unit_of": self.unit_of.tolist(),
            "times": [
                [list(task.units), task.device, list(ms) if np.isfinite(ms).all() else None]
                for task, ms in self.times.ms.items()
            ],
            "links": {f.name: getattr(measured.links, f.name).tolist() for f in fields(Links)},
            "cuts": measured.cuts,
            "interval": dict(measured.interval),
            "all_links": measured.is_complete,
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
            links = Links(**{f.name: np.array(data["links"][f.name], dtype=np.float64) for f in fields(Links)})
            measured = MeasuredLinks(links, str(data["cuts"]), dict(data["interval"]), bool(data["all_links"]))
            unit_of = np.array(data["unit_of"], dtype=np.int64)
            found = cls(unit_of, _times(data["times"]), measured, float(data["seconds"]))
        except (LookupError, TypeError, AttributeError, OverflowError, MemoryError) as error:
            raise ValueError(f"no profile: {error}") from error
        if not found._is_sound():
            raise ValueError("a profile with values that cannot be")
        return found

    def _is_sound(self) -> bool:
        links, n_units = self.links.links, len(np.unique(self.unit_of))
        d = links.submodel_ms.size
        costs = {(d, d): (links.latency_ms, links.ms_per_byte), (d,): (links.submodel_ms, links.alone_ms)}
        return (
            self.unit_of.ndim == 1
            and np.array_equal(np.unique(self.unit_of), np.arange(n_units))
            and all(array.shape == shape and _is_time(array) for shape, of in costs.items() for array in of)
            and all(0 <= unit < n_units for task in self.times.ms for unit in task.units)
            and all(0 <= task.device < d for task in self.times.ms)
            and _is_time(np.array([self.seconds]))
        )


def _times(data: Sequence[Any]) -> PartTimes:
    times = PartTimes()
    for units, device, ms in data:
        low, median, high = map(float, ms) if ms else (np.inf, np.inf, np.inf)
        if not all(value >= 0 for value in (low, median, high)):
            raise ValueError(f"times {ms}")
        times.ms[PartTask(tuple(map(int, units)), int(device))] = (low, median, high)
    return times


def _is_time(values: FloatArray) -> bool:
    return bool((np.isfinite(values) & (values >= 0)).all())
