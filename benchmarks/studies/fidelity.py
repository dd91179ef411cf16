"""Predictions of the cost model against measured placements under HETERO, before and after fitting.

The parts of a model are profiled as `ovplace optimize` does; then random placements, from one region to as many as
there are groups, are measured in turns with the faster single device. The model is fitted to half of them and judged on
the other half, for several random halves: Spearman rank correlation / mean absolute percentage error. `noise` compares
two measurements of the same placements, each with its own compilation: no prediction can be expected to come closer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row
from benchmarks.sessions import measured_session
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.cost.calibration.agreement import Agreement, agreement
from ovplace.cost.calibration.fit import fit
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.submodel_counts import submodel_counts
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.plugins import registry
from ovplace.profiling.obtain import profile_costs
from ovplace.seeds import generator
from ovplace.session.baselines import Baseline
from ovplace.session.events import silent
from ovplace.session.measurer import latency_ratio
from ovplace.session.session import Session

SPEC = MeasureSpec(warmup=1, blocks=3, repeats=2, min_time_ms=6.0, hopeless_ratio=4.0)
"""Short: a hundred placements of a model take a minute or two, most of it compiling."""

TWICE = 10
"""Placements measured a second time."""

TRIES = 3
DISTURBED = 1.15
"""A trial is measured anew if the reference measured with it, or one of its blocks, took this many times the usual."""

HALVES = 5
SPEARMAN, MAPE = 0.95, 0.15
"""Aims of held-back predictions."""

Data = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        devices: names of devices in `benchmarks.sessions`.
        trials: random placements.
        profile_s: seconds of each profile.
        keep: folder where profiles and measurements are left, and taken from the next time; none if empty.
    """

    models: tuple[str, ...] = ("siren", "hyperbolic", "decoder", "demo", "mobilenet-v2")
    devices: tuple[str, ...] = ("bf16+f32", "cpu+emulated-gpu")
    trials: int = 100
    profile_s: float = 60.0
    keep: str = ""


SHORT = Options(models=("demo",), devices=("cpu+cpu",), trials=6, profile_s=2.0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and pair of devices."""
    for devices in options.devices:
        for model in options.models:
            yield {"model": model, "devices": devices, **_row(_kept(model, devices, options))}


def _kept(model: str, devices: str, options: Options) -> Data:
    """Return the profile and the trials of a case, measured now unless they were kept."""
    file = Path(options.keep) / f"{model}@{devices}.json" if options.keep else None
    if file and file.exists():
        loaded: Data = json.loads(file.read_text(encoding="utf-8"))
        return loaded
    data = _measured(model, devices, options)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data), encoding="utf-8")
    return data


def _measured(model: str, devices: str, options: Options) -> Data:
    """Profile a recipe on a pair of devices, and measure random placements."""
    with measured_session(model, devices) as opened:
        profile = profile_costs(opened.measurer, opened.baselines, silent, options.profile_s)
        session = opened.measurer.session
        return _trials(session, opened.baselines[0], options.trials) | {
            "profile": profile.table.to_dict(),
            "profile_s": profile.report.seconds,
        }


def _trials(session: Session, best: Baseline, count: int) -> Data:
    """Measure random placements, none twice except the first few."""
    draw = registry.load("placers", "random")
    asked = list(draw.factory(session.problem, draw.config({})).ask(count))
    trials = _quiet_trials(session, best.candidate, asked + asked[:TWICE])
    return {
        "device_of": [_groups_of(session, placement) for placement in asked],
        "reference": best.name,
        "trials": trials[: len(asked)],
        "again": trials[len(asked) :],
    }


def _groups_of(session: Session, placement: Placement) -> list[int]:
    """Return the device of each group, `[G]`."""
    choice: list[int] = session.problem.lower(placement).tolist()
    return choice


def _quiet_trials(session: Session, reference: Candidate, asked: Sequence[Placement]) -> list[Data]:
    """Measure placements; those that something else disturbed are measured again, a few times at most."""
    trials = [_trial(session, reference, placement) for placement in asked]
    for _ in range(TRIES - 1):
        usual_ms = _usual_ms(trials)
        for i, placement in enumerate(asked):
            if _disturbance(trials[i], usual_ms) > DISTURBED:
                again = _trial(session, reference, placement)
                trials[i] = min(trials[i], again, key=lambda t: _disturbance(t, usual_ms))
    return trials


def _trial(session: Session, reference: Candidate, placement: Placement) -> Data:
    """Measure a placement in turns with the reference."""
    candidate = Candidate("trial", placement)
    asked = [reference] if candidate.hash == reference.hash else [reference, candidate]
    beside, *rest = session.pool.measure(asked, SPEC)
    own = rest[0] if rest else beside
    blocks = own.block_medians_ms if own.ok else np.ones(1)
    return {
        "ratio": latency_ratio(own, beside),
        "reference_ms": beside.median_ms,
        "spread": float(blocks.max() / blocks.min()),
        "submodels": len(own.submodels),
    }


def _usual_ms(trials: Sequence[Data]) -> float:
    """Return what the reference takes where nothing disturbs it, ms."""
    return float(np.percentile([t["reference_ms"] for t in trials], 10))


def _disturbance(trial: Data, usual_ms: float) -> float:
    """Return how much the reference took more than usual, or the blocks of a placement differ, whichever is worse."""
    return float(max(trial["reference_ms"] / usual_ms, trial["spread"]))


def _row(data: Data) -> Data:
    """Return the figures of a case."""
    table, device_of = CostTable.from_dict(data["profile"]), np.array(data["device_of"])
    usual_ms = _usual_ms(data["trials"])
    first, again = (usual_ms * np.array([t["ratio"] for t in data[which]]) for which in ("trials", "again"))
    worked = np.isfinite(first)
    repeated = np.isfinite(again) & worked[: len(again)]
    before, after = _halved(table, device_of[worked], first[worked])
    regions = submodel_counts(table.n_groups, table.edges, device_of, table.n_devices).sum(axis=1)
    spearman, mape = _means(after)
    return {
        "groups": table.n_groups,
        "reference": data["reference"],
        "ms, least to most": f"{first[worked].min():.3g} to {first[worked].max():.3g}",
        "failed": int((~worked).sum()),
        "disturbed": float(np.mean([_disturbance(t, usual_ms) > DISTURBED for t in data["trials"]])),
        "submodels wrong": int((regions != [t["submodels"] for t in data["trials"]])[worked].sum()),
        "profile": _figures(before),
        "fitted": _figures(after),
        "noise": _figures([agreement(again[repeated], first[: len(again)][repeated])]),
        "reached": "yes" if spearman >= SPEARMAN and mape <= MAPE else "no",
        "profile_s": data["profile_s"],
    }


def _halved(table: CostTable, device_of: IntArray, latency: FloatArray) -> tuple[list[Agreement], list[Agreement]]:
    """Return the agreement of the profile and of fits with the halves that these did not see."""
    before: list[Agreement] = []
    after: list[Agreement] = []
    for number in range(HALVES):
        order = generator(number, "benchmark", "fidelity").permutation(len(latency))
        seen, rest = np.split(order, [len(order) // 2])
        fitted = fit(table, device_of[seen], latency[seen]).table
        for found, costs in ((before, table), (after, fitted)):
            found.append(agreement(latency_ms(costs, device_of[rest]), latency[rest]))
    return before, after


def _means(found: Sequence[Agreement]) -> tuple[float, float]:
    return float(np.mean([a.spearman for a in found])), float(np.mean([a.mape for a in found]))


def _figures(found: Sequence[Agreement]) -> str:
    spearman, mape = _means(found)
    return f"{spearman:.2f} / {mape:.0%}"
