"""What a search comes to on the benchmark models: one JSON line a model.

    python benchmarks/recipes.py demo siren hyperbolic unet resnet-50 --budget 40 --placer min_cut local_search

Source of tables in benchmarks/results. Every run is a whole `ovplace optimize` in a fresh folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--budget", default="40")
    parser.add_argument("--placer", nargs="+", default=[""], help="each model is searched by each; the default one's")
    parser.add_argument("--device", help="as ovplace optimize -d takes it; what the machine has by default")
    arguments = parser.parse_args()
    devices = ["-d", arguments.device] if arguments.device else []
    for model, placer in product(arguments.models, arguments.placer):
        options = [*devices, *(["--placer", placer] if placer else []), "--budget", arguments.budget]
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(row(model, optimized(model, Path(folder), options))), flush=True)


def optimized(model: str, folder: Path, options: list[str]) -> dict[str, Any]:
    """Build the recipe, search it, and return `result.json`."""
    ovplace("models", "build", model, "-o", str(folder))
    out = ovplace("optimize", str(folder / f"{model}.xml"), "-o", str(folder / "run"), "--json", *options)
    result: dict[str, Any] = json.loads(out)
    return result


def ovplace(*arguments: str) -> str:
    call = [sys.executable, "-c", "from ovplace.cli import main; main()", "--quiet", *arguments]
    return subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout


def row(model: str, result: dict[str, Any]) -> dict[str, Any]:
    verdict, best = result["verdict"], result["best"]
    return {
        "model": model,
        "placer": result["search"]["placer"],
        "status": verdict["status"],
        "answer": best["ops_per_device"],
        "submodels": len(best["submodels"]),
        "against": verdict["against"],
        "ratio": verdict["ratio"],
        "ci95": verdict["ci95"],
        "baselines_ms": {b["name"]: b["latency_ms"] and b["latency_ms"]["median"] for b in result["baselines"]},
        "best_ms": best["latency_ms"]["median"],
        "max_rel": max(o["max_rel"] for o in result["accuracy"]["outputs"]),
        "trials": result["search"]["measured"],
        "total_s": result["search"]["seconds"]["total"],
        "outside_fraction": result["search"]["outside_fraction"],
        "cpu": result["environment"]["cpu"],
    }


if __name__ == "__main__":
    main()
