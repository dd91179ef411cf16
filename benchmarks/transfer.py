"""A search that starts from a policy file beside those without: one JSON line a model, machine and arm.

    python benchmarks/transfer.py --policy shipped [--seeds 3] [--models unet] [--machines core-ultra]

`tuned` is hsdag's default, which imitates and measures the optimum of the cost model first; `cold` does without that.
Numbers are the best placement asked for within so many measurements, single devices among them: its latency without
noise over the certified optimum, minus 1, median and worst over seeds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
from simulated_play import Arm, Place, backend, build, one_thread, optimum, play, true_ms

BUDGETS = (4, 10, 20, 50, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="shipped")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=["detector-head", "decoder", "unet", "inception-v3"])
    parser.add_argument("--machines", nargs="+", default=["core-ultra", "i9-12900k+flex170"])
    arguments = parser.parse_args()
    one_thread()
    arms = {"policy": {"policy": arguments.policy}, "tuned": {}, "cold": {"warm_start": 0}}
    with tempfile.TemporaryDirectory() as folder:
        build(arguments.models, Path(folder))
        for model, machine in product(arguments.models, arguments.machines):
            place = Place(folder, model, machine)
            optimum_ms, _ = optimum(place)
            for name, settings in arms.items():
                found = [excess(place, settings, seed, optimum_ms) for seed in range(arguments.seeds)]
                print(
                    json.dumps({"model": model, "machine": machine, "arm": name, **summary(np.array(found))}),
                    flush=True,
                )


def excess(place: Place, settings: Mapping[str, object], seed: int, optimum_ms: float) -> list[float]:
    """Return how much slower than the optimum the best placement asked for is at each budget."""
    arm = Arm("hsdag", max(BUDGETS), settings=settings)
    played = play(place, arm, backend(place, seed), seed)
    best = np.minimum.accumulate(true_ms(place, [trial.placement for trial in played.trials]))
    last = [int(np.searchsorted(played.counts, budget, side="right")) - 1 for budget in BUDGETS]
    return [float(best[max(0, i)] / optimum_ms - 1) for i in last]


def summary(found: np.ndarray) -> dict[str, dict[str, float]]:
    spread = (("median", np.median(found, axis=0)), ("worst", found.max(axis=0)))
    return {name: {str(b): round(float(v), 4) for b, v in zip(BUDGETS, row, strict=True)} for name, row in spread}


if __name__ == "__main__":
    main()
