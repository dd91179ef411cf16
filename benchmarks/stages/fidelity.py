"""Predictions of the cost model against measured placements, before and after fitting.

The parts of a model are profiled as `ovplace optimize` does; then random placements, from one region to as many as
there are groups, are measured in stages, in turns with the faster single device. The model is fitted to half of them,
by what each took as a whole, and by this and what each of its stages took, and judged on the other half, for several
random halves: Spearman rank correlation / mean absolute percentage error. `noise` compares two measurements of the same
placements: no prediction can be expected to come closer. `reached` says whether the fit to stages, which is what a
search does, reaches a correlation of 0.95 and an error of 10 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.fitting import STAGES, Told, figures, held_back, means, told, typical_ms
from benchmarks.report import Row
from benchmarks.sessions import measured_session
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.cost.calibration.agreement import agreement
from ovplace.plugins import registry
from ovplace.profiling.obtain import profile_costs
from ovplace.session.events import silent
from ovplace.session.session import Session

SPEC = MeasureSpec(warmup=1, blocks=9, repeats=2, min_time_ms=16.0, hopeless_ratio=1e9)

TWICE = 20
"""Placements measured a second time."""

TRIES = 3
DISTURBED = 1.15
"""A placement is measured anew if its reference, or one of its blocks, took this many times the usual."""

HALVES = 5
SPEARMAN, MAPE = 0.95, 0.10
"""Aims of held-back predictions."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        devices: names of devices in `benchmarks.sessions`.
        trials: random placements.
        profile_s: seconds of each profile.
    """

    models: tuple[str, ...] = ("siren", "hyperbolic", "decoder", "demo", "mobilenet-v2")
    devices: tuple[str, ...] = ("bf16+f32", "cpu+emulated-gpu")
    trials: int = 100
    profile_s: float = 60.0


SHORT = Options(models=("hyperbolic",), devices=("cpu+cpu",), trials=4, profile_s=1.0)


@dataclass(frozen=True)
class _Trial:
    """A placement as measured; `told` is None where it did not work."""

    told: Told | None
    reference_ms: float
    spread: float

    def disturbance(self, usual_ms: float) -> float:
        """Return how much the reference took more than usual, or the blocks differ, whichever is worse."""
        return max(self.reference_ms / usual_ms, self.spread)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and pair of devices."""
    for devices in options.devices:
        for model in options.models:
            with measured_session(model, devices) as opened:
                session, best = opened.measurer.session, opened.baselines[0]
                profile = profile_costs(opened.measurer, opened.baselines, silent, options.profile_s).table
                draw = registry.load("placers", "random")
                asked = list(draw.factory(session.problem, draw.config({})).ask(options.trials))
                asked = [placement for placement in asked if not placement.is_uniform]
                trials = _quiet_trials(session, profile, best.candidate, asked + asked[:TWICE])
            case: Row = {"model": model, "devices": devices, "groups": profile.n_groups, "reference": best.name}
            yield {**case, **_row(profile, trials[: len(asked)], trials[len(asked) :])}


def _quiet_trials(
    session: Session, profile: CostTable, reference: Candidate, asked: Sequence[Placement]
) -> list[_Trial]:
    """Measure placements; those that something else disturbed are measured again, a few times at most."""
    trials = [_trial(session, profile, reference, placement) for placement in asked]
    for _ in range(TRIES - 1):
        usual_ms = _usual_ms(trials)
        for i, placement in enumerate(asked):
            if trials[i].disturbance(usual_ms) > DISTURBED:
                again = _trial(session, profile, reference, placement)
                trials[i] = min(trials[i], again, key=lambda t: t.disturbance(usual_ms))
    return trials


def _trial(session: Session, profile: CostTable, reference: Candidate, placement: Placement) -> _Trial:
    """Measure a placement in stages, in turns with the reference."""
    beside, own = session.pool.measure([reference, Candidate("trial", placement, staged=True)], SPEC)
    if not (own.ok and beside.ok):
        return _Trial(None, beside.median_ms, 1.0)
    blocks = own.block_medians_ms
    found = told(session.problem, profile, placement, own, beside)
    return _Trial(found, beside.median_ms, float(blocks.max() / blocks.min()))


def _usual_ms(trials: Sequence[_Trial]) -> float:
    """Return what the reference takes where nothing disturbs it, ms."""
    return float(np.percentile([trial.reference_ms for trial in trials], 10))


def _row(profile: CostTable, first: Sequence[_Trial], again: Sequence[_Trial]) -> Row:
    usual_ms = _usual_ms(first)
    found = [trial.told for trial in first if trial.told]
    latency_ms = typical_ms(found) * np.array([one.ratio for one in found])
    twice = [(a.told.ratio, b.told.ratio) for a, b in zip(first, again, strict=False) if a.told and b.told]
    judged = held_back(profile, found, len(found) // 2, HALVES)
    spearman, mape = means(judged[STAGES])
    return {
        "ms, least to most": f"{latency_ms.min():.3g} to {latency_ms.max():.3g}",
        "failed": len(first) - len(found),
        "disturbed": f"{np.mean([trial.disturbance(usual_ms) > DISTURBED for trial in first]):.0%}",
        **{name: figures(of) for name, of in judged.items()},
        "noise": figures([agreement(*(np.array(ratios) for ratios in zip(*twice, strict=True)))]),
        "reached": "yes" if spearman >= SPEARMAN and mape <= MAPE else "no",
    }
