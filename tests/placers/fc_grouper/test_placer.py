"""The fully connected grouper: its presets, what it learns, and what it reaches."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from ovplace.errors import ConfigError
from ovplace.plugins import registry
from ovplace.testing.graphs import SequentialCost, chain, layered, problem, run_search, trial_of

FC_GROUPER = registry.load("placers", "fc_grouper")
SEEDS = range(2)
BUDGET = 300
LEARNED_ALONE = {"uniform": False, "redraws": 0}


def built(of, **settings):
    return FC_GROUPER.factory(of, FC_GROUPER.config(settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "best"}, {"groups": -1}, {"hidden": 0}, {"tanh_constant": -1.0}, {"samples": 0},
        {"tanh_constant": inf}, {"sharpness": inf}, {"noise": inf},
    ],
    ids=str,
)  # fmt: skip
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError, match=rf"bad value in 'placer': .*\b{next(iter(settings))}\b"):
        FC_GROUPER.config(settings)


@pytest.mark.parametrize("seed", SEEDS)
def test_types_of_twenty_operations_are_told_apart(seed):
    of = problem(chain(("Add", "Sin") * 10), seed=seed)
    trials = run_search(built(of), of, SequentialCost.alternating(20), BUDGET)
    assert min(trial.measurement.median_ms for trial in trials) == 20.0


def test_devices_are_chosen_by_the_features_that_the_user_names():
    """All operations are of one type and shape; only the named feature says which is which."""
    bare = problem(chain(("Add",) * 12))
    of = replace(bare, features=(np.arange(12) % 2).reshape(-1, 1).astype(float))
    cost = SequentialCost.alternating(12)
    best = [min(t.measurement.median_ms for t in run_search(built(p), p, cost, BUDGET)) for p in (of, bare)]
    assert best[0] == 12.0
    assert best[0] < best[1]


@pytest.mark.slow
def test_the_published_preset_runs_and_learns():
    of, cost = problem(chain(("Add", "Sin") * 4)), SequentialCost.alternating(8)
    trials = run_search(built(of, preset="paper", groups=2), of, cost, 600)
    found = [trial.measurement.median_ms for trial in trials]
    assert np.mean(found[-50:]) < np.mean(found[:50])


def test_a_thousand_nodes_are_placed():
    of = problem(layered(1000, seed=1), n_devices=3)
    placer = built(of, samples=5)
    for number in range(10):
        (asked,) = placer.ask(1)
        placer.tell([trial_of(number, asked, 1.0 + number)])
    assert placer.info["updates"] == 1
