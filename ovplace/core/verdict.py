"""The verdict of a run: whether its best placement is faster than the best baseline, with an interval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ovplace.core.statistics import Interval

LEVEL = 0.98
"""Probability that the interval of a ratio holds the truth. What is as fast as the baseline is thus called faster in
1 % of comparisons; in 2.5 % at the usual 95 % (`benchmarks/studies/verdict_rates.py`)."""

_INTERVAL_KEY = re.compile(r"ci\d\d")
"""Key of an interval, which says its level: 98 % where one placement was compared, 99 % where two were, of which the
better one is more often lucky, and 95 % in files of earlier versions."""


class Status(StrEnum):
    """The three answers that a confidence interval of the latency ratio allows.

    Attributes:
        FASTER: the interval lies below 1: the placement found is the answer.
        SAME: the interval contains 1: the best baseline is the answer.
        BASELINE: the interval lies above 1, or nothing could be compared: the best baseline is the answer.
    """

    FASTER = "faster"
    SAME = "same"
    BASELINE = "baseline"

    @classmethod
    def of(cls, ratio: Interval) -> Status:
        """Return the status of a latency ratio, placement over baseline.

        >>> Status.of(Interval(0.9, 0.85, 0.95))
        <Status.FASTER: 'faster'>
        """
        if ratio.high < 1:
            return cls.FASTER
        return cls.BASELINE if ratio.low > 1 else cls.SAME


@dataclass(frozen=True)
class Verdict:
    """The judgement of a run's final comparison.

    Attributes:
        status: whether the best placement is the answer, or the best baseline.
        against: name of the baseline that the best placement was compared with.
        ratio: latency of the best placement over that baseline's; None where nothing was compared.
        null_control: latency of the best placement's cut between two identical aliases of one device, over that
            device's: the effect of cutting alone. None where it was not measured.
        defaults: latency of the best placement over each device's at its plugin's default precision, by baseline name.
        notes: further remarks, each a sentence without its full stop.
        null_device: the device of `null_control`; empty where there is none, and in results of earlier versions.
    """

    status: Status
    against: str
    ratio: Interval | None = None
    null_control: Interval | None = None
    defaults: Mapping[str, Interval] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    null_device: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the part `verdict` of `result.json`."""
        return {
            "status": self.status.value,
            "against": self.against,
            **(ratio_to_json(self.ratio) or {"ratio": None, _interval_key(LEVEL): None}),
            "null_control": ratio_to_json(self.null_control),
            **({"null_device": self.null_device} if self.null_device else {}),
            "defaults": {name: ratio_to_json(ratio) for name, ratio in self.defaults.items()},
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Build a verdict from what `to_json` returned.

        Raises:
            ValueError: the status is unknown.
            KeyError: a field is missing; likewise TypeError for one of another form.
        """
        return cls(
            status=Status(data["status"]),
            against=data["against"],
            ratio=ratio_from_json(data),
            null_control=ratio_from_json(data["null_control"]),
            null_device=data.get("null_device", ""),
            defaults={name: ratio for name, found in data["defaults"].items() if (ratio := ratio_from_json(found))},
            notes=tuple(data["notes"]),
        )


def ratio_to_json(ratio: Interval | None) -> dict[str, Any] | None:
    """Return a ratio with its interval as plain data; None for none."""
    return {"ratio": ratio.value, _interval_key(ratio.level): [ratio.low, ratio.high]} if ratio else None


def ratio_from_json(data: Mapping[str, Any] | None) -> Interval | None:
    """Return what `ratio_to_json` was given, whose interval may be of any level.

    Raises:
        KeyError: there is no ratio, or no interval.
    """
    if not data or data["ratio"] is None:
        return None
    key = next((key for key in data if _INTERVAL_KEY.fullmatch(key)), _interval_key(LEVEL))
    low, high = data[key]
    return Interval(data["ratio"], low, high, int(key[2:]) / 100)


def _interval_key(level: float) -> str:
    return f"ci{100 * level:.0f}"
