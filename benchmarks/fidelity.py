"""How well the cost model predicts real placements under HETERO, before and after fitting: one JSON line a case.

    python benchmarks/fidelity.py siren hyperbolic decoder demo mobilenet-v2 --keep measured/

A case is a model on a pair of devices. Its parts are profiled as `ovplace optimize` does; then random placements, from
one region to as many as there are groups, are measured in turns with the faster single device. The model is fitted to
half of them and judged on the other half, for several random halves. `noise` compares two measurements of the same
placements, each with its own compilation: no prediction can be expected to come closer. With `--keep`, profiles and
measurements are left in that folder, and taken from there the next time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.cost.calibration.fit import Agreement, agreement, fit
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.submodel_counts import submodel_counts
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.plugins import registry
from ovplace.profiling.obtain import profile_costs
from ovplace.seeds import generator
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer, ratio
from ovplace.session.session import Session, open_session
from ovplace.store.run_folder import RunFolder

PAIRS = {
    "bf16+f32": "CPU_BF16=CPU{INFERENCE_PRECISION_HINT:bf16},CPU_F32=CPU{INFERENCE_PRECISION_HINT:f32}",
    "cpu+emulated-gpu": "GPU,CPU{INFERENCE_PRECISION_HINT:f32}",
}
SPEC = MeasureSpec(warmup=1, blocks=3, repeats=2, min_time_ms=6.0, hopeless_ratio=4.0)
"""Short: a hundred placements of a model take a minute or two, most of it compiling."""

TWICE = 10
"""Placements measured a second time."""

TRIES = 3
DISTURBED = 1.15
"""A trial is measured anew if the reference beside it, or one of its blocks, took this many times the usual."""

HALVES = 5
SPEARMAN, MAPE = 0.95, 0.15
"""What held-back predictions are meant to reach."""

Data = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--machine-s", type=float, default=60.0, help="seconds for each profile")
    parser.add_argument("--keep", type=Path, help="folder for profiles and measurements")
    arguments = parser.parse_args()
    for pair in arguments.pairs:
        for model in arguments.models:
            data = kept(model, pair, arguments)
            print(json.dumps({"model": model, "devices": pair} | row(data)), flush=True)


def kept(model: str, pair: str, arguments: argparse.Namespace) -> Data:
    """Return the profile and the trials of a case, measured now unless they were kept."""
    file = arguments.keep / f"{model}@{pair}.json" if arguments.keep else None
    if file and file.exists():
        loaded: Data = json.loads(file.read_text())
        return loaded
    with tempfile.TemporaryDirectory() as folder:
        data = measured(model, pair, Path(folder), arguments.trials, arguments.profile_s)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data))
    return data


def measured(model: str, pair: str, folder: Path, count: int, profile_s: float) -> Data:
    """Build a recipe, profile it on a pair of devices, and measure random placements."""
    session = opened(model, pair, folder)
    store = RunFolder(folder).open_store()
    try:
        measurer = Measurer(session, store)
        baselines = measure_baselines(measurer, session.config.measure, silent)
        profile = profile_costs(measurer, baselines, silent, profile_s)
        return trials_of(session, baselines[0], count) | {
            "profile": profile.table.to_dict(),
            "profile_s": profile.report.seconds,
            "cpu": session.facts["cpu"],
        }
    finally:
        session.pool.close()
        store.close()


def opened(model: str, pair: str, folder: Path) -> Session:
    """Build a recipe and set a run up for it."""
    build = [sys.executable, "-c", "from ovplace.cli import main; main()", "--quiet", "models", "build", model]
    subprocess.run([*build, "-o", str(folder)], check=True, stdout=subprocess.PIPE)
    emulate = True if "emulated" in pair else None
    search = SearchConfig(model=str(folder / f"{model}.xml"), device=PAIRS[pair], emulate_gpu=emulate)
    run = folder / "run"
    run.mkdir()
    return open_session(RunConfig(search=search), RunFolder(run), silent)


def trials_of(session: Session, best: Baseline, count: int) -> Data:
    """Measure random placements, none twice except the first few."""
    draw = registry.load("placers", "random")
    asked = list(draw.factory(session.problem, draw.config({})).ask(count))
    start = time.monotonic()
    trials = quiet_trials(session, best.candidate, asked + asked[:TWICE])
    return {
        "device_of": [groups_of(session, placement) for placement in asked],
        "reference": best.name,
        "trials": trials[: len(asked)],
        "again": trials[len(asked) :],
        "trials_s": time.monotonic() - start,
    }


def groups_of(session: Session, placement: Placement) -> list[int]:
    """Return the device of each group, `[G]`."""
    choice: list[int] = session.problem.lower(placement).tolist()
    return choice


def quiet_trials(session: Session, reference: Candidate, asked: Sequence[Placement]) -> list[Data]:
    """Measure placements; those that something else disturbed are measured again, a few times at most."""
    trials = [trial(session, reference, placement) for placement in asked]
    for _ in range(TRIES - 1):
        usual_ms = usual(trials)
        for i, placement in enumerate(asked):
            if disturbance(trials[i], usual_ms) > DISTURBED:
                again = trial(session, reference, placement)
                trials[i] = min(trials[i], again, key=lambda t: disturbance(t, usual_ms))
    return trials


def trial(session: Session, reference: Candidate, placement: Placement) -> Data:
    """Measure a placement in turns with the reference."""
    candidate = Candidate("trial", placement)
    asked = [reference] if candidate.hash == reference.hash else [reference, candidate]
    beside, *rest = session.pool.measure(asked, SPEC)
    own = rest[0] if rest else beside
    blocks = own.block_medians_ms if own.ok else np.ones(1)
    return {
        "ratio": ratio(own, beside),
        "reference_ms": beside.median_ms,
        "spread": float(blocks.max() / blocks.min()),
        "submodels": len(own.submodels),
    }


def usual(trials: Sequence[Data]) -> float:
    """Return what the reference takes where nothing disturbs it, ms."""
    return float(np.percentile([t["reference_ms"] for t in trials], 10))


def disturbance(trial: Data, usual_ms: float) -> float:
    """Return how much the reference took more than usual, or the blocks of a placement differ, whichever is worse."""
    return float(max(trial["reference_ms"] / usual_ms, trial["spread"]))


def row(data: Data) -> Data:
    """Return the figures of a case."""
    table, device_of = CostTable.from_dict(data["profile"]), np.array(data["device_of"])
    usual_ms = usual(data["trials"])
    first, again = (usual_ms * np.array([t["ratio"] for t in data[which]]) for which in ("trials", "again"))
    worked = np.isfinite(first)
    repeated = np.isfinite(again) & worked[: len(again)]
    before, after = halved(table, device_of[worked], first[worked])
    regions = submodel_counts(table.n_groups, table.edges, device_of, table.n_devices).sum(axis=1)
    return {
        "groups": table.n_groups,
        "reference": data["reference"],
        "latency_ms": [round(float(x), 2) for x in (first[worked].min(), first[worked].max())],
        "failed": int((~worked).sum()),
        "disturbed": float(np.mean([disturbance(t, usual_ms) > DISTURBED for t in data["trials"]])),
        "submodels_wrong": int((regions != [t["submodels"] for t in data["trials"]])[worked].sum()),
        "profile": figures(before),
        "fitted": figures(after),
        "noise": figures([agreement(again[repeated], first[: len(again)][repeated])]),
        "reached": after_mean(after)[0] >= SPEARMAN and after_mean(after)[1] <= MAPE,
        "profile_s": round(data["profile_s"], 1),
        "trials_s": round(data["trials_s"], 1),
        "cpu": data["cpu"],
    }


def halved(table: CostTable, device_of: IntArray, latency: FloatArray) -> tuple[list[Agreement], list[Agreement]]:
    """Return the agreement of the profile and of fits with the halves that these did not see."""
    before: list[Agreement] = []
    after: list[Agreement] = []
    for number in range(HALVES):
        order = generator(number, "benchmark", "fidelity").permutation(len(latency))
        seen, apart = np.split(order, [len(order) // 2])
        fitted = fit(table, device_of[seen], latency[seen]).table
        for found, costs in ((before, table), (after, fitted)):
            found.append(agreement(latency_ms(costs, device_of[apart]), latency[apart]))
    return before, after


def after_mean(found: Sequence[Agreement]) -> tuple[float, float]:
    return float(np.mean([a.spearman for a in found])), float(np.mean([a.mape for a in found]))


def figures(found: Sequence[Agreement]) -> Data:
    spearman, mape = after_mean(found)
    return {"spearman": round(spearman, 3), "mape": round(mape, 3)}


if __name__ == "__main__":
    main()
