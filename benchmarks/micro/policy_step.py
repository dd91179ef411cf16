"""Time of one step of HSDAG's policy, its share of the update included.

Preset `paper`: encode, parse, sample, and a twentieth of an update of four passes over twenty steps (`step_ms`), or of
one pass (`one_pass_ms`). A graph of more than 5,000 nodes is timed over one episode of twenty steps. Graphs: models
with constants as nodes, and a random one. The aims were 15 ms for ResNet-50, 30 ms for BERT and 1 s for 20,000 nodes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import Row
from benchmarks.timing import in_new_process

if TYPE_CHECKING:
    from ovplace.core.problem import Problem
    from ovplace.plugins.protocols import Placer

FEATURES = 300
"""Columns of the random graph's features: about as many as the paper's have."""

STEPS = 20
LARGE = 5000
"""Nodes beyond which two episodes are enough."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        graphs: recipes, or `random N` for a random graph of N nodes.
        episodes: of which the first one does not count.
    """

    graphs: tuple[str, ...] = ("resnet-50", "bert-base", "random 20000")
    episodes: int = 6


SHORT = Options(graphs=("random 200",), episodes=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each graph, each from a process of its own, for its own peak of memory."""
    for name in options.graphs:
        yield in_new_process(__name__, "steps", name, options.episodes)


def steps(name: str, episodes: int) -> Row:
    """Return the times of a step on one graph."""
    import numpy as np

    from ovplace.plugins import registry

    problem = _random_problem(int(name.split()[1])) if name.startswith("random") else _model_problem(name)
    plugin = registry.load("placers", "hsdag")
    repeats = 2 if len(problem.graph) > LARGE else episodes
    times = {}
    for epochs in (4, 1):
        placer = plugin.factory(problem, plugin.config({"preset": "paper", "epochs": epochs}))
        times[epochs] = float(np.median([_episode_ms(placer) for _ in range(repeats)][1:]))
    edges = int(np.unique(problem.graph.edges, axis=1).shape[1])
    return {
        "graph": name,
        "nodes": len(problem.graph),
        "edges": edges,
        "step_ms": times[4],
        "one_pass_ms": times[1],
    }


def _episode_ms(placer: Placer) -> float:
    """Return the time of a step of a whole episode with its update, ms."""
    from ovplace.testing.graphs import trial_of

    start = time.perf_counter()
    for number in range(STEPS):
        asked = placer.ask(1)
        placer.tell([trial_of(number, placement, 1.0 + 0.01 * number) for placement in asked])
    return (time.perf_counter() - start) / STEPS * 1e3


def _random_problem(n: int) -> Problem:
    from ovplace.seeds import generator
    from ovplace.testing.graphs import layered, problem

    found = problem(layered(n, seed=0))
    return replace(found, features=generator(0, "benchmark", "features").random((n, FEATURES)))


def _model_problem(name: str) -> Problem:
    import numpy as np

    from ovplace import zoo
    from ovplace.config.schema import RunConfig, SearchConfig
    from ovplace.core.device import Device
    from ovplace.ir.read import read_graph
    from ovplace.session.problem import make_problem

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.xml"
        zoo.save_recipe(name, zoo.recipe(name).Config(), file, fp16=True)  # as the paper's graphs are
        graph = read_graph(file)
    devices = (Device("GPU", "GPU", {}), Device("CPU", "CPU", {}))
    settings = RunConfig(search=SearchConfig(placer="hsdag", coarsener="none"))
    return make_problem(settings, graph, devices, np.ones((len(graph), 2), dtype=bool))
