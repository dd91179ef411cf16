"""Latency ratios that a search measured, against those of the same placements timed in turns afterwards.

The placements of a search take turns with the CPU alone in fresh processes, each time in another order; their ratios
there are taken for the truth. The search measured each once, in turns with a reference: `reference off by` is how much
that took more or less than usual. `error`: root mean square of the difference between the logarithms of both ratios,
less its median over placements whose reference took what is usual (over all, if there are none); `taken for`: the error
that the race expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.report import Row
from benchmarks.script import UnavailableError
from benchmarks.sessions import opened_session, own_cache, searched
from benchmarks.turns import in_turns
from ovplace.core.measurement import Trial
from ovplace.devices import emulated_gpu
from ovplace.errors import OvplaceError
from ovplace.graphs.op_graph import FloatArray
from ovplace.search.comparison.disturbance import QUIET, error_of, usual_ms
from ovplace.store.run_folder import RunFolder

PARTS = (0.0, 0.03, QUIET, 0.2, 0.35, np.inf)
"""Differences of logarithms between which the rows lie."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        model: recipe, or model file.
        runs: folders of finished runs of it on the CPU and the emulated GPU; one search of `search_s` without any.
        within: placements whose ratio is at most so much above the lowest of its run.
        rounds: processes.
        search_s: limit of that search in seconds.
    """

    model: str = "demo"
    runs: tuple[str, ...] = ()
    within: float = 0.5
    rounds: int = 4
    search_s: float = 120.0


SHORT = Options(model="hyperbolic", within=0.05, rounds=2, search_s=25.0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each part."""
    if reason := emulated_gpu.why_unavailable():
        raise UnavailableError(reason)
    with own_cache() as folder:
        if not options.runs:
            searched(options.model, folder / "run", options.search_s, None, stages=True)
        runs = [_good(Path(run), options.within) for run in options.runs or [str(folder / "run")]]
    with opened_session(options.model, "cpu+emulated-gpu") as measurer:
        placements = {trial.placement.hash: trial.placement for trials, _ in runs for trial in trials}
        measured = in_turns(measurer.session, list(placements.values()), options.rounds)
    ms = np.array([[m.median_ms for m in of] for of in measured])  # infinite where one failed
    true = dict(zip(placements, np.log(ms[:, :-1] / ms[:, -1:]).mean(axis=0).tolist(), strict=True))
    off, error = np.concatenate([differences(trials, usual, true) for trials, usual in runs], axis=1)
    for low, high in pairwise(PARTS):
        chosen = (np.abs(off) >= low) & (np.abs(off) < high) & np.isfinite(error)
        if chosen.any():
            yield {
                "reference off by": f"{np.expm1(low):.0%} to {np.expm1(high):.0%}" if high < np.inf else "more",
                "placements": int(chosen.sum()),
                "error": f"{np.sqrt((error[chosen] ** 2).mean()):.3f}",
                "taken for": f"{np.sqrt((error_of(off[chosen]) ** 2).mean()):.3f}",
            }


def _good(run: Path, within: float) -> tuple[list[Trial], float]:
    """Return the trials of a run near its best one, and what the reference usually took there, ms."""
    with closing(RunFolder(run).open_store()) as store:
        trials = [trial for trial in store.trials() if trial.measurement.ok]
    if not trials:
        raise OvplaceError(f"no placement of '{run}' was measured; give its search more time with --set search_s=")
    most = (1 + within) * min(trial.ratio for trial in trials)
    return [trial for trial in trials if trial.ratio <= most], usual_ms(trials)


def differences(trials: Sequence[Trial], usual: float, true: dict[str, float]) -> FloatArray:
    """Return by how much the reference of each trial was off, and the error of its ratio, as logarithms, `[2, P]`.

    Args:
        trials: that worked.
        usual: latency of the reference in ms.
        true: logarithm of the ratio of each placement, by its hash; not finite where it could not be timed again.

    Raises:
        OvplaceError: no placement could be timed again.
    """
    off = np.log([trial.reference_ms / usual for trial in trials])
    error = np.log([trial.ratio for trial in trials]) - np.array([true[trial.placement.hash] for trial in trials])
    timed = np.isfinite(error)
    if not timed.any():
        raise OvplaceError("none of a run's placements could be timed again; see that the run is of this model")
    quiet = timed & (np.abs(off) < QUIET)  # a short search beside other work may have none
    return np.stack([off, error - np.median(error[quiet if quiet.any() else timed])])
