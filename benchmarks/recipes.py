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
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from ovplace.core.result import RunResult


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


def optimized(model: str, folder: Path, options: list[str]) -> RunResult:
    """Build the recipe, search it, and return the result."""
    ovplace("models", "build", model, "-o", str(folder))
    out = ovplace("optimize", str(folder / f"{model}.xml"), "-o", str(folder / "run"), "--json", *options)
    return RunResult.from_json(json.loads(out))


def ovplace(*arguments: str) -> str:
    call = [sys.executable, "-c", "from ovplace.cli import main; main()", "--quiet", *arguments]
    return subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout


def row(model: str, result: RunResult) -> dict[str, Any]:
    verdict, best, search = result.verdict, result.best, result.search
    return {
        "model": model,
        "placer": search.placer,
        "status": verdict.status,
        "answer": best.ops_per_device,
        "submodels": len(best.submodels),
        "against": verdict.against,
        "ratio": verdict.ratio.value if verdict.ratio else None,
        "ci95": [verdict.ratio.low, verdict.ratio.high] if verdict.ratio else None,
        "baselines_ms": {b.name: b.latency_ms.value if b.latency_ms else None for b in result.baselines},
        "best_ms": best.latency_ms.value if best.latency_ms else None,
        "max_rel": result.accuracy.max_rel_error,
        "trials": search.measured,
        "total_s": search.seconds.total,
        "outside_fraction": asdict(search.outside_fraction),
        "cpu": result.environment.cpu,
    }


if __name__ == "__main__":
    main()
