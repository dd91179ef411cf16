"""Time of one step of HSDAG's policy, its share of the update included: one JSON line a graph.

    python benchmarks/policy_step.py

Preset `paper`: encode, parse, sample, and a twentieth of an update of four passes over twenty steps (`step_ms`), or of
one pass (`one_pass_ms`). Graphs: ResNet-50 and BERT with constants as nodes, and a random one of 20,000 nodes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TARGET_MS = {"resnet-50": 15.0, "bert-base": 30.0, "random 20000": 1000.0}
FEATURES = 300
"""Columns of the random graph's features: about as many as the paper's have."""


def main() -> None:
    for name in TARGET_MS:  # a process each, for its own peak of memory
        subprocess.run([sys.executable, __file__, name], check=True)


def one(name: str) -> None:
    from ovplace.plugins import registry

    problem = random_problem(int(name.split()[1])) if name.startswith("random") else model_problem(name)
    plugin = registry.load("placers", "hsdag")
    repeats = 2 if len(problem.graph) > 5000 else 6
    times = {}
    for epochs in (4, 1):
        placer = plugin.factory(problem, plugin.config({"preset": "paper", "epochs": epochs}))
        times[epochs] = round(float(np.median([episode_ms(placer) for _ in range(repeats)][1:])), 2)
    row = {
        "graph": name,
        "nodes": len(problem.graph),
        "edges": int(np.unique(problem.graph.edges, axis=1).shape[1]),
        "step_ms": times[4],
        "one_pass_ms": times[1],
        "target_ms": TARGET_MS[name],
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(row), flush=True)


def episode_ms(placer) -> float:  # noqa: ANN001 - a benchmark
    """Return the time of a step of a whole episode with its update, ms."""
    from ovplace.testing.graphs import measured

    start = time.perf_counter()
    steps = 20
    for number in range(steps):
        asked = placer.ask(1)
        placer.tell([measured(number, placement, 1.0 + 0.01 * number) for placement in asked])
    return (time.perf_counter() - start) / steps * 1e3


def random_problem(n: int):  # noqa: ANN201
    from dataclasses import replace

    from ovplace.seeds import generator
    from ovplace.testing.graphs import layered, problem

    found = problem(layered(n, seed=0))
    return replace(found, features=generator(0, "benchmark", "features").random((n, FEATURES)))


def model_problem(name: str):  # noqa: ANN201
    from ovplace import zoo
    from ovplace.config.schema import RunConfig, SearchConfig
    from ovplace.core.device import Device
    from ovplace.ir.read import read_graph
    from ovplace.session.problem import make_problem

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.xml"
        zoo.save(name, zoo.recipe(name).Config(), file, fp16=True)  # as the paper's graphs are
        graph = read_graph(file)
    devices = (Device("GPU", "GPU", {}), Device("CPU", "CPU", {}))
    settings = RunConfig(search=SearchConfig(placer="hsdag", coarsener="none"))
    return make_problem(settings, graph, devices, np.ones((len(graph), 2), dtype=bool))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(sys.argv[1])
    else:
        main()
