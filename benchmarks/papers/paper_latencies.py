"""HSDAG's Table 2 beside simulated machines.

*Published* is the paper's own measurement on its hardware. *Simulated* is the machine `i9-12900k+flex170`, whose single
devices are calibrated to the paper's, *counterfactual* the machine that is made so that the optimum is HSDAG's figure;
both on the models in f16, without noise. OpenVINO-CPU and OpenVINO-GPU are HETERO's own choice in either order. The
learned placers' latencies are those of the answers of the suite `hsdag_table_2`, median over its seeds; an answer is
never slower than the best single device. *Policy* is the median of the last 20 placements that they ask for, which is
what the policy has become. BERT on the simulated CPU is faster than published, since its calibration was made in f32.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.hsdag_paper import MACHINE, PUBLISHED_S, paper_models
from benchmarks.report import Row
from benchmarks.script import ROOT
from benchmarks.searches.place import Place
from benchmarks.searches.simulated import simulated
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.cost.solvers.portfolio import best_certified

MACHINES = {"simulated": MACHINE, "counterfactual": "counterfactual"}
BASELINES = {
    "CPU-only": "CPU", "GPU-only": "GPU", "OpenVINO-CPU": "HETERO:CPU,GPU (automatic)",
    "OpenVINO-GPU": "HETERO:GPU,CPU (automatic)",
}  # fmt: skip

OPTIMUM, LOG_REWARD = "certified optimum", "HSDAG, log reward"
LEARNED = {
    "Placeto": "placeto paper", "RNN-based": "seq2seq paper", "HSDAG": "hsdag paper", LOG_REWARD: "hsdag paper-log",
}  # fmt: skip
SEARCHES = ROOT / "results" / "searches" / "hsdag-table-2-searches.json"


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: of the paper; all if there are none.
        time_limit_s: seconds of each mixed-integer program.
    """

    models: tuple[str, ...] = ()
    time_limit_s: float = 60.0


SHORT = Options(models=("resnet-50",), time_limit_s=5.0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and method."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for label, machine in MACHINES.items():
        with paper_models(options.models, machine, fp16=True) as models:
            for name, place in models.items():
                found.setdefault(name, {})[label] = _latencies(place, options.time_limit_s)
    for name, simulated_ms in found.items():
        optimum_ms = simulated_ms["counterfactual"][OPTIMUM]
        simulated_ms["counterfactual"] |= _searched(name, "answer", optimum_ms)
        simulated_ms["policy"] = _searched(name, "last 20", optimum_ms)
        for method in (*PUBLISHED_S, LOG_REWARD, OPTIMUM):
            here = {f"{label}, ms": _text(of.get(method)) for label, of in simulated_ms.items()}
            yield {"model": name, "method": method, "published, ms": _published(method, name), **here}


def _searched(model: str, column: str, optimum_ms: float) -> dict[str, float]:
    """Return the median over the seeds of a column of `hsdag_table_2`, in ms, by method."""
    data = json.loads(SEARCHES.read_text(encoding="utf-8"))
    rows = [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]
    values = {
        method: [float(row[column]) for row in rows if row["variant"] == variant and row["model"].startswith(model)]
        for method, variant in LEARNED.items()
    }
    return {method: optimum_ms * median(of) for method, of in values.items()}


def _published(method: str, model: str) -> str:
    if method not in PUBLISHED_S:
        return "-"
    seconds = PUBLISHED_S[method][model]
    return "out of memory" if seconds is None else f"{1e3 * seconds:.3g}"


def _latencies(place: Place, time_limit_s: float) -> dict[str, float]:
    search = SearchConfig(placer="single_device", backend="simulate")
    config = RunConfig(search=search, backend={"machine": place.machine_name})
    with simulated(place, config) as run:
        alone = {
            baseline.name: place.automatic_ms(baseline.placement) for baseline in run.baselines if baseline.placement
        }
    found = {method: alone[name] for method, name in BASELINES.items() if name in alone}
    return found | {OPTIMUM: best_certified(place.table, time_limit_s).value_ms}


def _text(latency_ms: float | None) -> str:
    return "-" if latency_ms is None else f"{latency_ms:.3g}"
