"""HSDAG's two presets on its three models beside random search and the certified optimum: one JSON line an arm.

    python benchmarks/hsdag.py [--seeds 5] [--jobs 2] [--arms "tuned, 200" "random, 200"]
    python benchmarks/hsdag.py --machine core-ultra --models unet detector-head

All of it is simulated, by default on the machine calibrated to the paper's single-device latencies, with the machine's
noise. On `core-ultra` the optimum of some models is a mixed placement. An arm is a placer with settings and a budget of
placements measured, each in turns with the fastest single device.
`answer` is what a run would end with: of the five best placements, measured ten times more, the fastest if it is surely
faster than that device, else the device. `asked` is the best placement asked for. Both are latencies without noise over
the certified optimum, minus 1.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from calibration import MACHINE, PUBLISHED_MS
from simulated_play import Arm, Measure, Place, apart, backend, build, one_thread, optimum, true_ms, workers
from simulated_play import play as play_arm

from ovplace import zoo
from ovplace.backends.simulate import Backend
from ovplace.core.measurement import Candidate, MeasureSpec, Trial
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval, ratio_interval

FINALISTS, ROUNDS = 5, 10
"""Placements that are measured again at the end, and how often."""

ALONE = {"uniform": False, "warm_start": 0, "cost_features": False}
LEARNING = {
    "baseline": {"baseline": True},
    "log reward": {"reward": "log"},
    "no discount": {"discount": 1.0},
    "baseline and log reward": {"baseline": True, "reward": "log"},
    "baseline and no discount": {"baseline": True, "discount": 1.0},
    "baseline, log reward and no discount": {"baseline": True, "reward": "log", "discount": 1.0},
    "baseline and dropout while drawing": {"baseline": True, "sampling_dropout": True},
}
"""How the policy learns and draws, otherwise than preset `paper`."""

ARMS = {
    "paper, 2000": Arm("hsdag", 2000, "none", {"preset": "paper"}),
    "paper, co-located, 2000": Arm(
        "hsdag", 2000, "colocate", {"preset": "paper", "nodes": "groups", "grouping": "fixed"}
    ),
    **{
        f"paper with {name}, 2000": Arm("hsdag", 2000, "none", {"preset": "paper"} | changed)
        for name, changed in LEARNING.items()
    },
    "random, 2000": Arm("random", 2000, "none"),
    "random, each operation by itself, 2000": Arm("random", 2000, "none", {"independent": 1.0}),
    "tuned, 200": Arm("hsdag", 200),
    "tuned without uniform placements and cost model, 200": Arm("hsdag", 200, settings=ALONE),
    "min_cut, 200": Arm("min_cut", 200),
    "local_search, 200": Arm("local_search", 200),
    "random, 200": Arm("random", 200),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--machine", default=MACHINE)
    parser.add_argument("--models", nargs="+", choices=zoo.names(), default=list(PUBLISHED_MS))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(arguments.models, Path(folder))
        with workers(arguments.jobs, one_thread) as pool:
            for model in arguments.models:
                place = Place(folder, model, arguments.machine)
                optimum_ms, bound_ms = pool.submit(optimum, place).result()
                about = {"model": model, "simulated": place.machine, "optimum_ms": optimum_ms, "bound_ms": bound_ms}
                for arm in arguments.arms:
                    seeds = range(arguments.seeds)
                    played = list(pool.map(play, *zip(*((place, arm, seed) for seed in seeds), strict=True)))
                    print(json.dumps(about | {"arm": arm} | summary(played, optimum_ms)), flush=True)


def play(place: Place, name: str, seed: int) -> dict[str, float]:
    """Search once, and return what came of it."""
    with apart(place) as own:
        source = backend(own, seed)
        played = play_arm(place, ARMS[name], source, seed)
        answered = answer(source, played.measure, played.trials)
    placements = [trial.placement for trial in played.trials]
    latencies = true_ms(place, placements)
    info = played.placer.info
    return {
        "asked_ms": float(latencies.min()),
        "answer_ms": float(true_ms(place, [answered])[0]),
        "measured": len(played.measure.known),
        "found_at": int(latencies.argmin()),
        "uniform": float(placements[int(latencies.argmin())].is_uniform),
        "groups": float(info.get("groups", np.nan)),
        "own_s": played.total_s,
    }


def answer(source: Backend, measure: Measure, trials: Sequence[Trial]) -> Placement:
    """Return the fastest finalist where the interval of its ratio is below 1, else the fastest single device."""
    distinct = {trial.placement.hash: trial for trial in trials}
    finalists = sorted(distinct.values(), key=lambda trial: trial.ratio)[:FINALISTS]
    intervals = [_again(source, measure.reference, trial.placement) for trial in finalists]
    best = min(range(len(finalists)), key=lambda i: intervals[i].value)
    assert measure.reference.placement is not None
    return finalists[best].placement if intervals[best].high < 1 else measure.reference.placement


def _again(source: Backend, reference: Candidate, placement: Placement) -> Interval:
    """Return the ratio to the reference over fresh compilations."""
    asked = [reference, Candidate("finalist", placement)]
    rounds = [source.measure(asked, MeasureSpec()) for _ in range(ROUNDS)]
    beside, own = zip(*((a.block_medians_ms, b.block_medians_ms) for a, b in rounds), strict=True)
    return ratio_interval(own, beside)


def summary(played: Sequence[Mapping[str, float]], optimum_ms: float) -> dict[str, object]:
    asked, answered = (np.array([p[name] for p in played]) / optimum_ms - 1 for name in ("asked_ms", "answer_ms"))
    return {
        "asked": {"median": round(float(np.median(asked)), 4), "worst": round(float(asked.max()), 4)},
        "answer": {"median": round(float(np.median(answered)), 4), "worst": round(float(answered.max()), 4)},
        "asked_within_1_percent": f"{int((asked <= 0.01).sum())} of {len(played)}",
        "best_asked_uniform": f"{int(sum(p['uniform'] for p in played))} of {len(played)}",
        "measured": [int(p["measured"]) for p in played],
        "found_at": [int(p["found_at"]) for p in played],
        "groups": [int(p["groups"]) for p in played if not np.isnan(p["groups"])],
        "own_s": round(float(np.median([p["own_s"] for p in played])), 2),
    }


if __name__ == "__main__":
    main()
