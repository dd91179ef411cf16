"""The distance of a run from the model's optimum, where the machine is the model: brute force knows the answer."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from ovplace.commands import optimality_gap as module
from ovplace.commands.optimality_gap import ModelFit, bound_of, optimality_gap
from ovplace.core.certificate import FULL, Certificate
from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers import portfolio
from ovplace.cost.solvers.solution import Solution
from ovplace.errors import DeviceError, PlacementError, StoreError, UsageError
from ovplace.profiling.obtain import Costs
from ovplace.search.comparison.final_comparison import decide
from ovplace.search.completed_run import CompletedRun, measured_placements, open_completed_run
from ovplace.search.explore import limiting_baselines, make_loop
from ovplace.search.result import Findings, build_result
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing import fake_backend
from ovplace.testing.graphs import costs, layered, problem
from ovplace.testing.placements import optimum
from ovplace.testing.sessions import OPS, DirectPool, session

GROUPS = Partition(np.arange(OPS) // 2)


def small_session(folder, table, **search):
    """Return a session of `OPS` operations in groups of two, whose machine is the cost model."""
    of = problem(layered(OPS, seed=3), partition=GROUPS)

    def measure(candidates, spec):
        values = [1e3 if c.placement is None else value(c.placement) for c in candidates]
        return [Measurement((ms,) * spec.blocks * spec.repeats, (spec.repeats,) * spec.blocks) for ms in values]

    def value(placement):
        at = np.array([of.device_names.index(name) for name in placement.devices])[placement.device_of]
        return float(latency_ms(table, GROUPS.lower(at)[None])[0])

    made = session(folder, DirectPool(measure), backend=fake_backend.NAME, placer="random", max_error=0.5, **search)
    return replace(made, problem=replace(of, costs=None))


def finished(folder, truth, stored=None, budget=30):
    """Play a run on a machine that is the model `truth`, and leave `stored` in its store."""
    made = small_session(folder, truth, budget=budget)
    store = RunStore(folder / "run.db")
    measurer = Measurer(made, store)
    baselines = limiting_baselines(measurer, silent)
    trials = make_loop(measurer, baselines[0], silent).run()
    comparison = decide(measurer, baselines, trials, silent)
    result = build_result(Findings(made, baselines, trials, comparison, measurer.seconds, 1.0))
    if stored is not None:
        store.put("costs", stored.to_dict())
    store.close()
    return CompletedRun(made.folder, made.config, made.graph, GROUPS, result, comparison.placement)


def table(seed=0):
    return costs(problem(layered(OPS, seed=3), partition=GROUPS), seed)


@pytest.mark.parametrize("seed", range(3))
def test_the_distance_is_what_brute_force_says(seed, tmp_path):
    truth = table(seed)
    run = finished(tmp_path, truth, truth, budget=8)
    found = bound_of(run, 20.0, silent)
    best = optimum(truth, latency_ms)
    assert found.optimum.model_ms == pytest.approx(best, rel=0.02)
    assert found.optimum.lower_bound_ms <= found.optimum.model_ms * (1 + 1e-9)
    measured = run.result.best.latency_ms.value
    assert found.best.above_optimum == pytest.approx(measured / best - 1, abs=0.03)
    assert found.best.above_bound >= found.best.above_optimum >= 0
    placed = Placement.from_names(run.graph, found.optimum.placement)
    assert placed.ops_per_device().items() <= found.optimum.ops_per_device.items()
    assert sum(found.optimum.ops_per_device.values()) == OPS
    assert found.result.environment.simulated == ""
    json.dumps(found.to_json(), allow_nan=False)


def test_fitting_corrects_costs_that_are_off(tmp_path):
    truth = table()
    run = finished(tmp_path, truth, replace(truth, group_ms=truth.group_ms * np.linspace(0.5, 2, 2)), budget=60)
    fit = bound_of(run, 5.0, silent).fit
    assert fit.placements > 50
    assert fit.held_back.mape < 0.3 * fit.profiled.mape
    assert fit.held_back.spearman > 0.95


def test_without_measurements_the_model_stands_as_it_was_profiled(tmp_path):
    run = finished(tmp_path, table(), table(), budget=1)
    silenced = replace(run, result=replace(run.result, baselines=()))
    (tmp_path / "run.db").unlink()
    store = run.folder.open_store()
    store.put("costs", table().to_dict())
    store.close()
    found = bound_of(silenced, 5.0, silent)
    assert found.fit == ModelFit(0, None, None)
    assert found.optimum.model_ms == pytest.approx(optimum(table(), latency_ms))


def test_a_solver_without_time_proves_nothing(tmp_path, monkeypatch):
    def hasty(of, **_):
        return Solution(np.zeros(of.n_groups, dtype=np.int64), Certificate("hasty", FULL, 9.0, -np.inf, 0.0))

    monkeypatch.setattr(portfolio, "solve_milp", hasty)
    monkeypatch.setattr(portfolio, "solve_min_cut", hasty)
    found = bound_of(finished(tmp_path, table(), table(), budget=4), 5.0, silent)
    assert found.optimum.gap is found.optimum.lower_bound_ms is found.best.above_bound is None
    json.dumps(found.to_json(), allow_nan=False)


def test_an_optimum_that_failed_in_the_run_says_how(tmp_path):
    run = finished(tmp_path, table(), table(), budget=4)
    found = bound_of(run, 5.0, silent).optimum
    assert found.failed == ""
    failure = Measurement.failed(ErrorKind.COMPILE, "no kernel")
    best = Placement.from_names(run.graph, found.placement)
    with closing(run.folder.open_store()) as store:
        store.add_trial("best", Trial(4, best, failure, np.inf, "random"))
    assert bound_of(run, 5.0, silent).optimum.failed == "compile: no kernel"


def test_what_was_not_profiled_is_measured_now(tmp_path, monkeypatch):
    truth = table()
    run = finished(tmp_path, truth)
    made = small_session(tmp_path, truth)
    monkeypatch.setattr(module, "open_session", lambda *_: made)
    monkeypatch.setattr(module, "obtain_costs", lambda *_: Costs(truth, {}))
    with closing(run.folder.open_store()) as store:
        known = store.measurements()
        found = bound_of(run, 5.0, silent)
        assert store.measurements() == known  # baselines are not measured again
    assert (found.costs_source, found.costs_measured_now) == ("random", True)


def test_groups_are_measured_on_other_inputs_where_some_are_named(tmp_path, monkeypatch):
    run, made, configs = finished(tmp_path, table()), small_session(tmp_path, table()), []
    gone, here = tmp_path / "gone.npz", tmp_path / "here.npz"
    moved = replace(run, config=replace(run.config, search=replace(run.config.search, input=str(gone))))

    def opened(config, *_):
        configs.append(config)
        return made

    monkeypatch.setattr(module, "open_completed_run", lambda _: moved)
    monkeypatch.setattr(module, "open_session", opened)
    monkeypatch.setattr(module, "obtain_costs", lambda *_: Costs(table(), {}))
    with pytest.raises(UsageError, match=r"gone\.npz' do not exist; check the path, or name another file with -i"):
        optimality_gap(tmp_path, 5.0, silent)
    here.touch()
    assert optimality_gap(tmp_path, 5.0, silent, str(here)).costs_measured_now
    assert [config.search.input for config in configs] == [str(here)]


def test_steps_name_devices_with_labels(tmp_path, monkeypatch):
    run, made = finished(tmp_path, table()), small_session(tmp_path, table())
    simulated = replace(made, selection=replace(made.selection, simulated="a machine"))
    monkeypatch.setattr(module, "open_session", lambda *_: simulated)
    monkeypatch.setattr(module, "obtain_costs", lambda *_: Costs(table(), {}))
    said = []
    bound_of(run, 5.0, lambda event: said.append(event.text))
    assert [text for text in said if text.startswith("the best single device is") and text.endswith(" (simulated)")]


def test_costs_of_another_machine_are_refused(tmp_path, monkeypatch):
    run = finished(tmp_path, table())
    made = small_session(tmp_path, table())
    other = problem(layered(OPS, seed=3), n_devices=3, partition=GROUPS)
    monkeypatch.setattr(module, "open_session", lambda *_: replace(made, problem=other))
    with pytest.raises(DeviceError, match=r"made on CPU_0, CPU_1, here are CPU_0, CPU_1, CPU_2"):
        bound_of(run, 5.0, silent)


def test_an_answer_that_divides_groups_has_no_value(tmp_path):
    run = finished(tmp_path, table(), table(), budget=4)
    torn = replace(run, answer=Placement(np.arange(OPS) % 2, run.devices))
    best = bound_of(torn, 5.0, silent).best
    assert best.model_ms is best.above_optimum is best.above_bound is None


def test_an_answer_with_a_group_that_failed_alone_has_no_value(tmp_path):
    truth = table()
    run = finished(tmp_path, truth, budget=4)
    group_ms = truth.group_ms.copy()
    group_ms[0, run.device_of_groups(run.answer)[0]] = np.inf
    with closing(run.folder.open_store()) as store:
        store.put("costs", replace(truth, group_ms=group_ms).to_dict())
    found = bound_of(run, 5.0, silent)
    assert found.best.model_ms is found.best.above_optimum is found.best.above_bound is None
    assert json.dumps(found.to_json(), allow_nan=False)


def test_latencies_are_on_one_scale(tmp_path):
    """A machine that slows down over the run changes both a trial and the reference beside it."""
    run = finished(tmp_path, table(), budget=20)
    store = run.folder.open_store()
    choices, latencies = measured_placements(run, store)
    store.close()
    assert len(np.unique(choices, axis=0)) == len(choices) > 10
    assert latencies == pytest.approx(latency_ms(table(), choices))


@pytest.mark.parametrize("missing", ["result.json", "placement.json", "run.db", "config.toml", "placed.xml"])
def test_an_unfinished_run_is_one_line(missing, tmp_path):
    for name in {"result.json", "placement.json", "run.db", "config.toml", "placed.xml"} - {missing}:
        (tmp_path / name).touch()
    with pytest.raises(PlacementError, match=f"no finished run: there is no {missing}"):
        open_completed_run(tmp_path)


def test_a_damaged_run_is_one_line(tmp_path):
    for name in ("result.json", "placement.json", "run.db", "config.toml", "placed.xml"):
        (tmp_path / name).touch()
    with pytest.raises(StoreError, match="cannot read the run"):
        open_completed_run(tmp_path)


def test_there_is_no_folder(tmp_path):
    with pytest.raises(PlacementError, match="there is no run folder"):
        open_completed_run(tmp_path / "nothing")
