"""Profiles with the fake backend, whose parts take a share of the whole each."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from ovplace.config.schema import ProfilingConfig, RunConfig, SearchConfig
from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.cost.calibration.part_layout import PartLayout
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.profiling import parts as profiler_module
from ovplace.profiling.obtain import obtain_costs, profile_costs, stored_costs
from ovplace.search.run import run
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import Deadline
from ovplace.session.events import silent
from ovplace.store.run_db import RunStore
from ovplace.testing import fake_backend, models
from ovplace.testing.graphs import layered
from ovplace.testing.sessions import OPS, SHORT_COMPARISON, DirectPool, direct
from tests.profiling.profiles import (
    counting,
    failing,
    measurer,
    obtain,
    profile,
)


def test_the_formula_comes_back(tmp_path, store, open_links):
    of = measurer(tmp_path, store)
    seen = []
    found = profile(of, open_links, listener=lambda p: seen.append(p.phase))
    layout = layout_of(of, found)
    table, report = found.table, found.report
    np.testing.assert_allclose(table.group_ms, np.tile([10 / OPS, 11 / OPS], (OPS, 1)), rtol=0.05)
    assert table.saving_ms.max() < 0.05
    uniform = latency_ms(table, np.repeat([[0], [1]], OPS, axis=1))
    np.testing.assert_allclose(uniform, [10, 11], rtol=1e-6)
    # A cut costs CUT_MS, however its tensors and submodels share it.
    extra = table.latency_ms[0, 1] + table.submodel_ms.sum()
    assert extra == pytest.approx(fake_backend.CUT_MS + 2 * fake_backend.CALL_MS, rel=0.1)
    assert report.failed == report.estimated == 0 and report.cuts == "10 of 10"
    assert report.measured == 2 * OPS + 2 * layout.pairs.shape[1]
    assert set(seen) == {"profile"}


def layout_of(of, found):
    return PartLayout.of_units(of.session.problem, found.parts.unit_of)


def share_of_untimed(of, found, group):
    """Return what a group that alone was not timed has of the whole: its expected share beside the timed others."""
    weight = layout_of(of, found).weight
    share = weight[group] / weight.sum()
    return share / ((OPS - 1) / OPS + share)


@pytest.mark.parametrize("error", [ErrorKind.COMPILE, ErrorKind.CRASH])
def test_a_part_that_fails_by_itself_gets_a_share_where_the_whole_model_runs(tmp_path, store, open_links, error):
    pool = failing(lambda c: c.part == (5,) and c.placement.used == ("CPU_1",), error)
    of = measurer(tmp_path, store, pool)
    found = profile(of, open_links)
    np.testing.assert_allclose(found.table.group_ms[5], [10 / OPS, 11 * share_of_untimed(of, found, 5)], rtol=0.05)
    np.testing.assert_allclose(found.table.group_ms.sum(axis=0), [10, 11], rtol=0.1)
    assert found.report.failed == found.report.guessed == 1


def test_a_part_whose_process_ends_once_is_timed_again(tmp_path, store, open_links, monkeypatch):
    monkeypatch.setattr(profiler_module, "REQUEST_S", 0.0)  # pairs are timed one by one
    pool = direct()
    real, once = pool.measure, [Measurement.failed(ErrorKind.CRASH, "gone")]

    def measure(candidates, spec):
        is_pair = [len(candidate.part) for candidate in candidates] == [2]
        return [once.pop()] if is_pair and once else real(candidates, spec)

    pool.measure = measure
    assert profile(measurer(tmp_path, store, pool), open_links).report.failed == 0
    assert not once


def test_a_part_costs_infinitely_much_where_neither_it_nor_the_whole_model_runs(tmp_path, store, open_links):
    of = measurer(tmp_path, store, failing(lambda c: c.part == (5,) and c.placement.used == ("CPU_1",)))
    whole = {baseline.name: baseline for baseline in measure_baselines(of, of.session.config.measure, silent)}
    gone = replace(whole["CPU_1"], measurement=Measurement.failed(ErrorKind.COMPILE, "no"))
    found = profile_costs(of, [whole["CPU_0"], gone], silent, 20.0, open_links)
    assert np.argwhere(np.isinf(found.table.group_ms)).tolist() == [[5, 1]]
    assert (found.report.failed, found.report.guessed) == (1, 0)


def test_a_part_that_fails_everywhere_gets_a_share(tmp_path, store, open_links):
    of = measurer(tmp_path, store, failing(lambda c: 5 in c.part))
    found = profile(of, open_links)
    assert np.isfinite(found.table.group_ms).all()
    np.testing.assert_allclose(found.table.group_ms[5], np.array([10, 11]) * share_of_untimed(of, found, 5), rtol=0.05)


def test_when_every_part_fails_there_still_are_costs(tmp_path, store, open_links):
    found = profile(measurer(tmp_path, store, failing(lambda c: True)), open_links)
    np.testing.assert_allclose(found.table.group_ms.sum(axis=0), [10, 11], rtol=0.1)
    assert found.report.measured == 0


def test_the_budget_holds_with_thousands_of_groups(tmp_path, store, open_links):
    def slow(candidates, spec):
        time.sleep(0.002 * len(candidates))
        return direct(ops=3000).measure(candidates, spec)

    of = measurer(tmp_path, store, DirectPool(slow), layered(3000, 0))
    found = profile(of, open_links, budget_s=1.0)
    assert found.report.units <= 4
    assert found.table.n_groups == 3000
    assert np.isfinite(found.table.group_ms).all()


def test_without_time_everything_is_estimated(tmp_path, store, open_links):
    found = profile(measurer(tmp_path, store), open_links, budget_s=1e-6)
    assert found.report.measured == 0 and found.report.estimated > 0
    np.testing.assert_allclose(latency_ms(found.table, np.zeros((1, OPS), int)), 10, rtol=1e-6)


def test_a_profile_without_timed_parts_is_not_of_an_earlier_run(tmp_path, store, open_links):
    of, seen = measurer(tmp_path, store), []
    baselines = measure_baselines(of, of.session.config.measure, silent)
    of.deadline = Deadline(of.time.clock() - 1.0)
    abouts = [obtain_costs(of, baselines, lambda p: seen.append(p.text), open_links).about]
    with closing(RunStore(Path(":memory:"))) as other:
        of.store = other
        abouts.append(obtain_costs(of, baselines, silent, open_links).about)
    assert [(about["measured"], about["reused"]) for about in abouts] == [(0, False)] * 2
    assert not any("earlier run" in text for text in seen)


def test_a_run_that_goes_on_takes_what_it_began_with(tmp_path, store, open_links, cache):
    pool, asked = counting()
    first = obtain(measurer(tmp_path, store, pool), open_links)
    (next(cache.iterdir())).unlink()
    count = len(asked)
    second = obtain(measurer(tmp_path, store, pool), open_links)
    assert len(asked) == count > 0
    assert second.table.to_dict() == first.table.to_dict() == stored_costs(store).to_dict()
    assert second.about["measured"] == first.about["measured"]


@pytest.mark.parametrize("has_answer", [True, False])
def test_a_run_with_an_answer_completes_a_profile_that_was_cut(tmp_path, store, open_links, cache, has_answer):
    of = measurer(tmp_path, store)
    baselines = measure_baselines(of, of.session.config.measure, silent)
    of.deadline = Deadline(of.time.clock() + 1e-3)
    first = obtain_costs(of, baselines, silent, open_links)
    of.deadline = Deadline()
    if has_answer:
        of.session.folder.result.write_text("{}")
    second = obtain_costs(of, baselines, silent, open_links)
    assert first.about["estimated"] > 0
    assert second.about["estimated"] == (0 if has_answer else first.about["estimated"])


def test_the_time_of_the_phase_limits_the_profile(tmp_path, store, open_links, monkeypatch):
    budgets = []
    real = profiler_module.Profiler.__init__

    def spy(self, m, whole, listener, budget_s, *more):
        budgets.append(budget_s)
        real(self, m, whole, listener, budget_s, *more)

    monkeypatch.setattr(profiler_module.Profiler, "__init__", spy)
    of = measurer(tmp_path, store)
    of.deadline = Deadline(1003.0, clock=lambda: 1000.0)
    obtain(of, open_links)
    assert budgets == [3.0]
    assert ProfilingConfig().budget_s > 3


def test_a_run_without_costs_has_none(store):
    assert stored_costs(store) is None


@pytest.mark.slow
def test_a_run_on_real_devices_and_its_continuation(tmp_path, cache):
    path = tmp_path / "model.xml"
    ov.save_model(models.residual(), path, compress_to_fp16=False)
    alias = {"base": "CPU", "properties": {"INFERENCE_PRECISION_HINT": "f32"}}
    config = RunConfig(
        search=SearchConfig(
            model=str(path), device="CPU_A,CPU_B", placer="min_cut", budget=3, emulate_gpu=False, early_exit=False
        ),
        profiling=ProfilingConfig(budget_s=8.0),
        comparison=SHORT_COMPARISON,
        devices={"CPU_A": alias, "CPU_B": alias},
    )
    phases = []
    first = run(config, tmp_path / "run", lambda p: phases.append(p.phase)).search
    assert first.costs["source"] == "measured here"
    assert first.costs["failed"] == 0 and first.costs["measured"] > 0
    assert first.certificate.gap == pytest.approx(0, abs=1e-3)
    spent = first.seconds
    assert spent.total > spent.profiling > 0
    assert spent.comparison > spent.starting > 0
    assert spent.total > spent.preparing + spent.baselines + spent.profiling + spent.search + spent.comparison > 0
    assert 0 <= first.outside_fraction.run < 1
    assert phases.index("baselines") < phases.index("profile")
    assert len(list(cache.iterdir())) == 1
    phases.clear()
    again = run(config, tmp_path / "run", lambda p: phases.append(p.phase)).search
    assert again.certificate.value_ms == first.certificate.value_ms
    assert again.measured == first.measured
    assert "profile" not in phases
