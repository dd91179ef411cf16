"""A profile of a model over the CPU in f32 and the emulated GPU, and how far its predictions are off; as JSON.

    python benchmarks/profile_time.py MODEL [--budget 60] [--placements 10]

MODEL is an IR, such as `ovplace models build inception-v3 -o DIR` leaves in DIR. Predictions are of random placements,
stretches of the group order; each is measured in turns with the CPU, and compared as a ratio to it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.profiling.obtain import profile_costs
from ovplace.seeds import generator
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.session.session import open_session
from ovplace.store.run_folder import RunFolder

DEVICES = "CPU_F32=CPU{INFERENCE_PRECISION_HINT:f32},GPU"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds")
    parser.add_argument("--placements", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(profiled(options.model, options.budget, options.placements, Path(folder)), indent=1))


def profiled(model: str, budget_s: float, placements: int, folder: Path) -> dict[str, object]:
    """Return seconds, counts, and predictions beside measurements."""
    config = RunConfig(search=SearchConfig(model=model, device=DEVICES, emulate_gpu=True))
    session = open_session(config, RunFolder(folder), silent)
    store = RunFolder(folder).open_store()
    try:
        measurer = Measurer(session, store)
        baselines = measure_baselines(measurer, config.measure, silent)
        start = time.monotonic()
        found = profile_costs(measurer, baselines, silent, budget_s)
        seconds = time.monotonic() - start
        rows = [compared(measurer, found.table, baselines, number) for number in range(placements)]
    finally:
        session.pool.close()
        store.close()
    errors = [abs(row["predicted"] / row["measured"] - 1) for row in rows]
    report = found.report
    return {
        "seconds": round(seconds, 1),
        "groups": found.table.n_groups,
        "parts": {"measured": report.measured, "failed": report.failed, "estimated": report.estimated},
        "cuts": report.cuts,
        "spread": round(report.spread, 3),
        "single_devices_ms": {b.name: round(b.measurement.median_ms, 2) for b in baselines if b.candidate.placement},
        "mean_error": round(float(np.mean(errors)), 3) if errors else None,
        "ratios": rows,
    }


def compared(measurer: Measurer, table: CostTable, baselines: list[Baseline], number: int) -> dict[str, float]:
    """Return the predicted and the measured ratio of one random placement to the fastest single device."""
    problem = measurer.session.problem
    rng = generator(0, "profile", number)
    stretches = int(rng.integers(2, 10))
    where = rng.integers(len(problem.devices), size=stretches)
    choice = np.empty(problem.n_groups, dtype=np.int64)
    choice[problem.group_order] = where[np.arange(problem.n_groups) * stretches // problem.n_groups]
    reference = baselines[0].candidate
    assert reference.placement is not None
    alone = problem.uniform(problem.device_names.index(reference.placement.used[0]))
    predicted = latency_ms(table, np.stack([choice, alone]))
    stored = measurer.stored_pair(
        Candidate(f"placement {number}", problem.lift(choice)), reference, measurer.session.config.measure
    )
    return {"predicted": round(float(predicted[0] / predicted[1]), 3), "measured": round(stored.ratio, 3)}


if __name__ == "__main__":
    main()
