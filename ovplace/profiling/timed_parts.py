"""What a profile has measured, kept for a later call that has the time to complete it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ovplace.cost.calibration.links import Links
from ovplace.cost.calibration.part_layout import PartTask, PartTimes
from ovplace.graphs.op_graph import IntArray
from ovplace.profiling.links import MeasuredLinks


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, the inverse of `from_dict`; a part that failed has no times."""
        links = self.links
        return {
            "unit_of": self.unit_of.tolist(),
            "times": [
                [list(task.units), task.device, list(ms) if np.isfinite(ms).all() else None]
                for task, ms in self.times.ms.items()
            ],
            "links": {f.name: getattr(links.links, f.name).tolist() for f in fields(Links)},
            "cuts": [links.timed, links.wanted],
            "interval": dict(links.interval),
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TimedParts:
        """Build it from what `to_dict` returned.

        Raises:
            LookupError, TypeError, ValueError: the data are damaged.
        """
        times = PartTimes()
        for units, device, ms in data["times"]:
            low, median, high = ms or (np.inf, np.inf, np.inf)
            times.ms[PartTask(tuple(units), device)] = (low, median, high)
        links = Links(**{f.name: np.array(data["links"][f.name], dtype=np.float64) for f in fields(Links)})
        timed, wanted = data["cuts"]
        measured = MeasuredLinks(links, timed, wanted, data["interval"])
        return cls(np.array(data["unit_of"], dtype=np.int64), times, measured, data["seconds"])
