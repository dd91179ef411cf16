"""Is the best placement faster than the best simple choice? An interval answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval

FASTER, SAME, BASELINE = "faster", "same", "baseline"


@dataclass(frozen=True)
class Verdict:
    """The answer of a run.

    Attributes:
        status: `faster`: the interval lies wholly below 1; `same`: it holds 1; `baseline`: it lies above 1, or no
            placement beside the baselines worked.
        against: the best baseline.
        ratio: latency of the best placement over that baseline's; None without a duel.
        placement: the answer; the baseline's own unless the status is `faster`.
        origin: where the answer comes from: a placer's name or a baseline's.
        null_control: latency of the best placement's cut between two identical aliases, over the same baseline's: what
            cutting alone does.
        defaults: latency of the best placement over each device's at its plugin's own precision.
        notes: what else the user has to know.
    """

    status: str
    against: str
    placement: Placement
    origin: str
    ratio: Interval | None = None
    null_control: Interval | None = None
    defaults: Mapping[str, Interval] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def status_of(ratio: Interval) -> str:
    """Return the status that an interval of the latency ratio allows."""
    if ratio.high < 1:
        return FASTER
    return BASELINE if ratio.low > 1 else SAME
