"""The state of the default placer: it restores the search exactly."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.plugins import registry
from ovplace.plugins.protocols import Placer
from ovplace.testing.graphs import layered, problem, trial_of

OF = problem(layered(12, 1), 2, 1)


def placer() -> Placer:
    plugin = registry.load("placers", "min_cut")
    found: Placer = plugin.factory(OF, plugin.config({"sweeps": 1, "draws": 0}))
    return found


def go_on(search: Placer, first: int, count: int) -> list[str]:
    """Ask for placements and tell how they did; return their hashes."""
    assert OF.costs is not None
    hashes = []
    for number in range(first, first + count):
        asked = search.ask(1)[0]
        hashes.append(asked.hash)
        latency = float(latency_ms(OF.costs, asked.device_of[None])[0]) * (1 + 0.1 * np.sin(number))
        trial = trial_of(number, asked, latency, 1.0)
        count = len(asked.submodels(OF.graph))  # the first half is run stage by stage, with stages of equal length
        stages_ms = (latency / count,) * count if number < 20 else ()
        search.tell([replace(trial, measurement=replace(trial.measurement, stages_ms=stages_ms))])
    return hashes


def test_a_restored_search_goes_on_the_same() -> None:
    through, resumed = placer(), placer()
    go_on(through, 0, 35)
    resumed.restore(json.loads(json.dumps(through.state())))
    assert resumed.state() == through.state()
    assert go_on(resumed, 35, 10) == go_on(through, 35, 10)


def test_stages_change_what_is_believed() -> None:
    wholes, stages = placer(), placer()
    for search in (wholes, stages):
        for number in range(6):
            asked = search.ask(1)[0]
            trial = trial_of(number, asked, 5.0, 1.0)
            count = len(asked.submodels(OF.graph))
            stages_ms = tuple(range(1, count + 1)) if search is stages else ()
            search.tell([replace(trial, measurement=replace(trial.measurement, stages_ms=stages_ms))])
    assert go_on(wholes, 20, 4) != go_on(stages, 20, 4)
