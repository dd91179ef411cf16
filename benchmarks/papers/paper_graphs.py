"""HSDAG's Table 1 and the groups of its Figure 2.

Nodes / edges of the models in f16, prepared for placing, constants and conversions among them, and of the same after
the co-location of appendix G. *Groups* are those that get a device in the first step of the preset `paper`, which has
learned nothing then, inseparable ones joined: median and range over seeds. The paper draws groups in its Figure 2 and
gives no number of them. Inception-V3 is without its input transform, with which it has 726 / 762.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.hsdag_paper import PUBLISHED_SIZES, paper_models
from benchmarks.report import Row
from benchmarks.searches.place import Place
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.problem import Problem
from ovplace.placers.hsdag.network.policy_graph import policy_graph
from ovplace.plugins import registry
from ovplace.session.problem import make_problem

VARIANTS = ("fine", "co-located")
NODES = {"fine": "operations", "co-located": "colocated"}
COARSENERS = {"fine": "none", "co-located": "colocate"}
SETTINGS: dict[str, dict[str, object]] = {"fine": {}, "co-located": {"nodes": "operations"}}


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: of the paper; all if there are none.
        seeds: networks to parse with.
    """

    models: tuple[str, ...] = ()
    seeds: int = 15


SHORT = Options(models=("resnet-50",), seeds=1)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and variant."""
    with paper_models(options.models, fp16=True) as models:
        for name, place in models.items():
            for variant in VARIANTS:
                published = PUBLISHED_SIZES[name] if variant == "fine" else None
                row = _row(_problem(place, variant), variant, options.seeds)
                yield {"model": name, "graph": variant, "published": _size(published), **row}


def _size(of: tuple[int, int] | None) -> str:
    return f"{of[0]} / {of[1]}" if of else "-"


def _row(problem: Problem, variant: str, seeds: int) -> Row:
    graph = policy_graph(problem, nodes=NODES[variant], costs=False)
    groups = [_groups(replace(problem, seed=seed), variant) for seed in range(seeds)]
    return {
        "here": _size((len(graph), graph.edges.shape[1])),
        "groups": f"{np.median(groups):.0f} ({min(groups)} to {max(groups)})",
        "nodes a group": f"{len(graph) / np.median(groups):.1f}",
    }


def _problem(place: Place, variant: str) -> Problem:
    config = RunConfig(SearchConfig(placer="hsdag", coarsener=COARSENERS[variant]), coarsener=SETTINGS[variant])
    return make_problem(config, place.graph, place.machine.as_devices(), place.machine.supported(place.graph))


def _groups(problem: Problem, variant: str) -> int:
    """Return the number of groups that a new policy places."""
    hsdag = registry.load("placers", "hsdag")
    policy = hsdag.factory(problem, hsdag.config({"preset": "paper", "nodes": NODES[variant]}))
    policy.ask(1)
    return int(policy.info["groups"])
