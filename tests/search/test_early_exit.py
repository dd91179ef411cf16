"""A search is skipped where the profile proves that it cannot gain, unless the user wants it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ovplace as api
from ovplace.core.placement import Placement
from ovplace.errors import InterruptedRunError
from ovplace.profiling.obtain import Costs
from ovplace.search.early_exit import why_hopeless
from ovplace.session.baselines import measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.testing.sessions import QUICK, direct, session

MODEL = Path(__file__).parents[2] / "models" / "demo.xml"
SLOW_GPU = """
[devices.CPU]
peak_gflops = 800
gb_per_s = 50
cache_mb = 12
cache_gb_per_s = 300
efficiency = 0.4
launch_us = 1
submodel_us = 10

[devices.GPU]
peak_gflops = 80
gb_per_s = 5
cache_mb = 4
cache_gb_per_s = 30
efficiency = 0.1
launch_us = 10
submodel_us = 100

[links.default]
latency_us = 50
gb_per_s = 2
"""
QUICKLY = [
    "measure.min_time_ms=0", "comparison.min_time_ms=0", "comparison.rounds=2", "comparison.blocks=3",
    "comparison.race=0",
]  # fmt: skip


def test_a_run_that_cannot_gain_searches_nothing_until_it_is_asked_to(tmp_path):
    (tmp_path / "slow.toml").write_text(SLOW_GPU)
    machine = str(tmp_path / "slow.toml")
    result = api.optimize(MODEL, tmp_path / "run", machine=machine, budget=4, settings=QUICKLY)
    note = result.verdict.notes[-1]
    assert note.startswith("no split can help here: none is faster than CPU (simulated), even if ")
    assert "--no-early-exit" in note
    assert (result.search.trials, result.best.origin) == (0, "CPU")
    assert result.search.certificate.lower_bound_ms > 0
    assert result.trials_frame().columns[:3].tolist() == ["origin", "latency_ms", "ratio"]
    assert "No placement was tried: the notes" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    searched = api.optimize(MODEL, tmp_path / "run", machine=machine, budget=4, early_exit=False, settings=QUICKLY)
    assert searched.search.trials == 4
    assert not any("no split" in note for note in searched.verdict.notes)


def test_a_search_that_was_skipped_counts_for_no_placement_of_one_that_is_asked_for(tmp_path):
    (tmp_path / "slow.toml").write_text(SLOW_GPU)

    def trials(budget, **given):
        given |= {"machine": str(tmp_path / "slow.toml"), "settings": QUICKLY}
        return api.optimize(MODEL, tmp_path / "run", budget=budget, **given).search.trials

    assert [trials(4), trials(2, early_exit=False), trials(3), trials(4)] == [0, 2, 2, 2]
    assert trials(4, early_exit=False) == 4


def test_a_search_that_was_asked_for_and_stopped_begins_again(tmp_path):
    (tmp_path / "slow.toml").write_text(SLOW_GPU)
    given = {"machine": str(tmp_path / "slow.toml"), "budget": 2, "settings": QUICKLY}

    def stop(progress):
        if progress.phase == "search":
            raise KeyboardInterrupt

    assert api.optimize(MODEL, tmp_path / "run", **given).search.trials == 0
    for _ in range(2):
        with pytest.raises(InterruptedRunError):
            api.optimize(MODEL, tmp_path / "run", early_exit=False, listener=stop, **given)


def test_where_a_split_may_gain_there_is_a_search(tmp_path):
    result = api.optimize(MODEL, tmp_path / "run", machine="core-ultra", budget=3, settings=QUICKLY)
    assert result.search.trials == 3


@pytest.fixture
def run(tmp_path):
    """Return a session of the fake backend, its baselines, and costs that leave nothing to gain."""
    made = session(tmp_path, direct(), early_exit=True)
    store = made.folder.open_store()
    baselines = measure_baselines(Measurer(made, store), QUICK, silent)
    store.close()
    table = made.problem.costs
    fastest = made.problem.device_names.index(baselines[0].name)
    slower = np.where(np.arange(table.n_devices) == fastest, 1.0, 9.0)
    hopeless = replace(table, group_ms=table.group_ms[:, [fastest]] * slower, saving_ms=0.0)
    return made, [b for b in baselines if b.candidate.placement], hopeless


def test_it_says_what_is_proven(run):
    made, baselines, table = run
    text = why_hopeless(made, baselines, Costs(table, {}))
    assert text == (
        f"no split can help here: none is faster than {made.shown(baselines[0].name)}, even if other devices and "
        "copies between them are 2 times as fast as profiled; --no-early-exit searches all the same"
    )


@pytest.mark.parametrize(("gain", "said"), [(1e-13, "is faster than"), (0.004, "gains more than 0.4 % over")])
def test_a_gain_that_is_only_rounding_is_none(run, monkeypatch, gain, said):
    made, baselines, table = run
    monkeypatch.setattr("ovplace.search.early_exit.gain_bound", lambda *_: gain)
    assert f": none {said} " in why_hopeless(made, baselines, Costs(table, {}))


def test_the_proof_takes_no_longer_than_the_call_has_time(run, monkeypatch):
    made, baselines, table = run
    limits = []

    def bound(*given):
        limits.append(given[-1])
        return 0.0

    monkeypatch.setattr("ovplace.search.early_exit.gain_bound", bound)
    for left_s in (np.inf, 3.0):
        assert why_hopeless(made, baselines, Costs(table, {}), left_s)
    assert limits == [10.0, 3.0]


@pytest.mark.parametrize(("gain", "hopeless"), [(0.01, True), (0.0101, False), (0.5, False)])
def test_a_gain_of_more_than_a_percent_is_searched_for(run, monkeypatch, gain, hopeless):
    made, baselines, table = run
    monkeypatch.setattr("ovplace.search.early_exit.gain_bound", lambda *_: gain)
    text = why_hopeless(made, baselines, Costs(table, {}))
    assert ("none gains more than 1 % over" in text) == hopeless == bool(text)


def test_a_profile_by_which_no_device_runs_all_of_the_model_proves_nothing(run, monkeypatch):
    made, baselines, table = run
    monkeypatch.setattr("ovplace.search.early_exit.gain_bound", lambda *_: 0.0)
    group_ms = table.group_ms.copy()
    group_ms[[0, 1], [0, 1]] = np.inf
    nowhere = Costs(replace(table, group_ms=group_ms), {})
    for name in made.problem.device_names:
        first = replace(baselines[0], candidate=replace(baselines[0].candidate, name=name))
        assert why_hopeless(made, [first], nowhere) == ""


@pytest.mark.parametrize("about", [{"estimated": 3}, {"estimated": 1, "measured": 50}, {"guessed": 1, "failed": 1}])
def test_an_incomplete_profile_proves_nothing(run, about):
    made, baselines, table = run
    assert why_hopeless(made, baselines, Costs(table, about)) == ""


def test_a_profile_that_names_another_fastest_device_proves_nothing(run):
    made, baselines, table = run
    assert why_hopeless(made, baselines, Costs(replace(table, group_ms=table.group_ms[:, ::-1]), {})) == ""


def test_a_split_that_gains_already_is_no_reason_to_stop(run):
    made, baselines, table = run
    placement = Placement(np.arange(len(made.graph)) % 2, made.problem.device_names)
    faster = replace(baselines[0], ratio=0.9, placement=placement)
    assert why_hopeless(made, [*baselines, faster], Costs(table, {})) == ""
    assert why_hopeless(made, [*baselines, replace(faster, ratio=0.99)], Costs(table, {})), "too little to search for"
    assert why_hopeless(made, [*baselines, replace(faster, competes=False)], Costs(table, {})), "no answer"
    assert why_hopeless(made, [*baselines, replace(faster, placement=None)], Costs(table, {})), (
        "not known to be a split"
    )
    assert why_hopeless(made, [*baselines, replace(baselines[0], ratio=0.9)], Costs(table, {})), "one device, and noise"


def test_it_can_be_switched_off_and_needs_costs(run):
    made, baselines, table = run
    off = replace(made, config=replace(made.config, search=replace(made.config.search, early_exit=False)))
    assert why_hopeless(off, baselines, Costs(table, {})) == why_hopeless(made, baselines, None) == ""


def test_a_policy_is_tried(run):
    made, baselines, table = run
    given = replace(made, config=replace(made.config, placer={"policy": "trained.npz"}))
    assert why_hopeless(given, baselines, Costs(table, {})) == ""


def test_costs_that_may_be_wrong_by_more_prove_less(run, monkeypatch):
    made, baselines, table = run
    assert why_hopeless(made, baselines, Costs(table, {}))
    monkeypatch.setattr("ovplace.search.early_exit.FACTOR", 50.0)
    assert why_hopeless(made, baselines, Costs(table, {})) == ""
