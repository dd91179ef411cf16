"""Skipping a search that cannot gain: the solver proves it from the profile, with a margin for the profile's errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.core.result.labels import percent
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.gain_bound import gain_bound
from ovplace.profiling.obtain import Costs
from ovplace.session.baselines import Baseline
from ovplace.session.session import Session

FACTOR = 2.0
"""Factor by which costs of the profile may be wrong in favour of splits, all of them at once: those of other devices,
transfers and submodels, and what neighbours save on the best device, whose own latency is measured. It has to cover
the shares of groups that were timed together, too, which are guesses.

`benchmarks/studies/early_exit.py` counts how many searches a factor skips, and what they lose. With 2 it is 25 to
31 % of them and nothing, whatever the spread of the errors; with 1.5, about half of them, and a gain of 33 % was lost
where costs are wrong by 1.6 (a spread of 0.5).
"""

LEAST_GAIN = 0.01
"""Gain over the best single device that is worth a search, as a fraction of its latency."""

_NO_GAIN = 1e-5
"""Gain that is none: what the solver's tolerance and the rounding of sums may leave."""

_TIME_LIMIT_S = 10.0
"""Time limit of the mixed-integer program that bounds the gain on more than two devices, or where the model may exceed
the memory of one; less in a call that has little time left."""


def why_hopeless(
    session: Session, baselines: Sequence[Baseline], costs: Costs | None, time_limit_s: float = float("inf")
) -> str:
    """Return why no search is needed, for the verdict's notes; empty where one is.

    A search is needed where the profile is incomplete or guessed in part, or takes another device than the reference
    for the fastest, where HETERO's automatic mode already beats the single devices, and where a policy is given, which
    is to be tried.

    Args:
        session: the run.
        baselines: measured, the reference first: the fastest single device, unless the run began with another one.
        costs: costs of the groups; None where the placer needs none.
        time_limit_s: seconds that the proof may take at most.
    """
    config = session.config
    if not config.search.early_exit or config.placer.get("policy"):
        return ""
    if costs is None or costs.about.get("estimated", 0) or costs.about.get("guessed", 0):
        return ""
    alone_ms, names = latency_ms(costs.table, costs.table.uniform_choices()), session.problem.device_names
    fastest = int(alone_ms.argmin())
    if any(_is_split(b) and b.ratio < 1 - LEAST_GAIN for b in baselines):
        return ""
    if not np.isfinite(alone_ms[fastest]) or names[fastest] != baselines[0].name:
        return ""
    gain = gain_bound(costs.table, fastest, FACTOR, min(time_limit_s, _TIME_LIMIT_S))
    if gain > LEAST_GAIN:
        return ""
    best = session.shown(names[fastest])
    claim = f"gains more than {percent(gain)} over {best}" if gain > _NO_GAIN else f"is faster than {best}"
    return (
        f"no split can help here: none {claim}, even if other devices and copies between them are {FACTOR:g} times as "
        "fast as profiled; --no-early-exit searches all the same"
    )


def _is_split(baseline: Baseline) -> bool:
    """Return whether HETERO's automatic mode has split the model: often it takes one device for all."""
    return baseline.competes and baseline.placement is not None and not baseline.placement.is_uniform
