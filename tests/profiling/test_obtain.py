"""Profiles with the fake backend, whose parts take a share of the whole each."""

from __future__ import annotations

import json
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from ovplace.config.schema import ProfilingConfig, RunConfig, SearchConfig
from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.ir.parts.link_model import save_link_model
from ovplace.profiling import parts as profiler_module
from ovplace.profiling.links import CUTS, PIECES, LinkBench
from ovplace.profiling.obtain import obtain_costs, profile_costs, stored_costs
from ovplace.profiling.timed_parts import TimedParts
from ovplace.search.run import run
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import Deadline
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.cache import VARIABLE, find_profile, keep_profile
from ovplace.store.run_db import RunStore
from ovplace.testing import fake_backend, models
from ovplace.testing.graphs import layered
from ovplace.testing.sessions import OPS, SHORT_COMPARISON, DirectPool, direct, session


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "profiles"


@pytest.fixture
def store(tmp_path):
    opened = RunStore(tmp_path / "run.db")
    yield opened
    opened.close()


@pytest.fixture
def open_links(tmp_path):
    @contextmanager
    def bench(of):
        n, pieces = save_link_model(tmp_path / "links.xml", PIECES)
        yield LinkBench(n, pieces, of.problem.device_names), direct(ops=n)

    return bench


def measurer(folder, store, pool=None, graph=None, **search):
    of = session(folder, pool or direct(), graph, backend=fake_backend.NAME, **search)
    return Measurer(of, store)


def profile(of, open_links, budget_s=20.0, listener=silent):
    baselines = measure_baselines(of, of.session.config.measure, silent)
    return profile_costs(of, baselines, listener, budget_s, open_links)


def failing(fails, error=ErrorKind.COMPILE):
    """Return a pool of the fake in which parts that `fails` chooses fail."""
    real = direct()

    def measure(candidates, spec):
        measured = real.measure(candidates, spec)
        if error in (ErrorKind.CRASH, ErrorKind.TIMEOUT) and any(c.part and fails(c) for c in candidates):
            return [Measurement.failed(error, "gone")] * len(candidates)
        return [
            Measurement.failed(error, "no") if c.part and fails(c) else m
            for c, m in zip(candidates, measured, strict=True)
        ]

    return DirectPool(measure)


def test_the_formula_comes_back(tmp_path, store, open_links):
    of = measurer(tmp_path, store)
    seen = []
    found = profile(of, open_links, listener=lambda p: seen.append(p.phase))
    table, report = found.table, found.report
    np.testing.assert_allclose(table.group_ms, np.tile([10 / OPS, 11 / OPS], (OPS, 1)), rtol=0.05)
    assert table.saving_ms.max() < 0.05
    uniform = latency_ms(table, np.repeat([[0], [1]], OPS, axis=1))
    np.testing.assert_allclose(uniform, [10, 11], rtol=1e-6)
    # A cut costs CUT_MS, however its tensors and submodels share it.
    extra = table.latency_ms[0, 1] + table.submodel_ms.sum()
    assert extra == pytest.approx(fake_backend.CUT_MS + 2 * fake_backend.CALL_MS, rel=0.1)
    assert report.failed == report.estimated == 0 and report.cuts == "10 of 10"
    assert report.measured == 2 * OPS + 2 * found.layout.pairs.shape[1]
    assert set(seen) == {"profile"}


@pytest.mark.parametrize("error", [ErrorKind.COMPILE, ErrorKind.CRASH])
def test_a_part_that_fails_by_itself_gets_a_share_where_the_whole_model_runs(tmp_path, store, open_links, error):
    pool = failing(lambda c: c.part == (5,) and c.placement.used == ("CPU_1",), error)
    found = profile(measurer(tmp_path, store, pool), open_links)
    np.testing.assert_allclose(found.table.group_ms[5], [10 / OPS, 11 / OPS], rtol=0.2)
    np.testing.assert_allclose(found.table.group_ms.sum(axis=0), [10, 11], rtol=0.1)
    assert found.report.failed == 1


def test_a_part_costs_infinitely_much_where_neither_it_nor_the_whole_model_runs(tmp_path, store, open_links):
    of = measurer(tmp_path, store, failing(lambda c: c.part == (5,) and c.placement.used == ("CPU_1",)))
    whole = {baseline.name: baseline for baseline in measure_baselines(of, of.session.config.measure, silent)}
    gone = replace(whole["CPU_1"], measurement=Measurement.failed(ErrorKind.COMPILE, "no"))
    found = profile_costs(of, [whole["CPU_0"], gone], silent, 20.0, open_links)
    assert np.argwhere(np.isinf(found.table.group_ms)).tolist() == [[5, 1]]


def test_a_part_that_fails_everywhere_gets_a_share(tmp_path, store, open_links):
    found = profile(measurer(tmp_path, store, failing(lambda c: 5 in c.part)), open_links)
    assert np.isfinite(found.table.group_ms).all()
    np.testing.assert_allclose(found.table.group_ms[5], [10 / OPS, 11 / OPS], rtol=0.2)


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


def counting():
    real, asked = direct(), []

    def measure(candidates, spec):
        asked.extend(c for c in candidates if c.part)
        return real.measure(candidates, spec)

    return DirectPool(measure), asked


def obtain(of, open_links):
    return obtain_costs(of, measure_baselines(of, of.session.config.measure, silent), silent, open_links)


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


def test_another_run_reuses_the_profile(tmp_path, store, open_links):
    pool, asked = counting()
    first = obtain(measurer(tmp_path, store, pool), open_links)
    count = len(asked)
    other = RunStore(tmp_path / "other.db")
    second = obtain(measurer(tmp_path, other, pool), open_links)
    other.close()
    assert len(asked) == count
    assert second.about["reused"] and not first.about["reused"]
    assert second.table.to_dict() == first.table.to_dict()


@pytest.mark.parametrize("change", ["seed", "damage", "reuse"])
def test_another_question_is_measured_anew(tmp_path, store, open_links, cache, change):
    pool, asked = counting()
    obtain(measurer(tmp_path, store, pool), open_links)
    count = len(asked)
    of = measurer(tmp_path, other := RunStore(tmp_path / "other.db"), pool, seed=1 if change == "seed" else 0)
    if change == "damage":
        next(cache.iterdir()).write_text('{"format": 2, "unit_of": "?"}')
    if change == "reuse":
        of.session.config = replace(of.session.config, profiling=ProfilingConfig(reuse=False))
    found = obtain(of, open_links)
    other.close()
    assert len(asked) == 2 * count and not found.about["reused"]


def test_a_cache_that_cannot_be_written_is_none(tmp_path, store, open_links, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    assert not keep_profile("key", {})
    assert find_profile("key") is None
    assert obtain(measurer(tmp_path, store), open_links).table.n_groups == OPS


def test_the_time_of_the_phase_limits_the_profile(tmp_path, store, open_links, monkeypatch):
    budgets = []
    real = profiler_module.Profiler.__init__

    def spy(self, m, whole, listener, budget_s, known=None):
        budgets.append(budget_s)
        real(self, m, whole, listener, budget_s, known)

    monkeypatch.setattr(profiler_module.Profiler, "__init__", spy)
    of = measurer(tmp_path, store)
    of.deadline = Deadline(1003.0, clock=lambda: 1000.0)
    obtain(of, open_links)
    assert budgets == [3.0]
    assert ProfilingConfig().budget_s > 3


def edited(cache, edit):
    """Change the kept profile, as if it had been cut short, or damaged."""
    kept = next(cache.iterdir())
    data = json.loads(kept.read_text())
    edit(data)
    kept.write_text(json.dumps(data))


def another_run(of, open_links):
    """Return the costs of a run of the same model in another folder."""
    with closing(RunStore(Path(":memory:"))) as store:
        return obtain(Measurer(of.session, store), open_links)


def without_the_last_three(kept):
    kept["times"] = kept["times"][:-3]


def without_a_unit(kept):
    kept["times"] = [time for time in kept["times"] if 5 not in time[0]]


def in_one_unit(kept):
    kept["unit_of"] = [0] * len(kept["unit_of"])
    kept["times"] = []


def of_another_version(kept):
    kept["format"] = 99


@pytest.mark.parametrize(
    ("edit", "is_missing"),
    [
        (without_the_last_three, lambda number, of_all, name: number >= of_all - 3),
        (without_a_unit, lambda number, of_all, name: "(5," in name or " 5)" in name),
        (in_one_unit, lambda number, of_all, name: True),
        (of_another_version, lambda number, of_all, name: True),
    ],
)
def test_another_run_times_what_the_first_had_no_time_for(tmp_path, store, open_links, cache, edit, is_missing):
    pool, asked = counting()
    of = measurer(tmp_path, store, pool)
    first = obtain(of, open_links)
    missing = [c.name for i, c in enumerate(asked) if is_missing(i, len(asked), c.name)]
    edited(cache, edit)
    asked.clear()
    second = another_run(of, open_links)
    assert sorted(c.name for c in asked) == sorted(missing)
    np.testing.assert_allclose(second.table.group_ms, first.table.group_ms, rtol=0.02)
    assert second.about["measured"] == first.about["measured"]
    assert second.about["estimated"] == 0 and not second.about["reused"]
    asked.clear()
    assert another_run(of, open_links).about["reused"] and not asked


@pytest.mark.parametrize("measured", [0, 2, len(CUTS)])
def test_another_run_measures_the_cuts_that_the_first_had_no_time_for(tmp_path, store, cache, measured):
    n, pieces = save_link_model(tmp_path / "links.xml", PIECES)
    asked = []

    @contextmanager
    def watched(of):
        def measure(candidates, spec):
            asked.append(len(candidates))
            return direct(ops=n).measure(candidates, spec)

        yield LinkBench(n, pieces, of.problem.device_names), DirectPool(measure)

    of = measurer(tmp_path, store)
    first = obtain(of, watched)
    everything = list(asked)
    edited(cache, lambda kept: kept.update(cuts=measured, splits=kept["splits"][: 2 * measured]))
    asked.clear()
    second = another_run(of, watched)
    assert asked == everything[measured:]
    assert second.about["cuts"] == first.about["cuts"] == "10 of 10"
    assert second.about["reused"] == (measured == len(CUTS))
    extra = [of.table.latency_ms[0, 1] + of.table.submodel_ms.sum() for of in (first, second)]
    assert extra[1] == pytest.approx(extra[0]) and extra[0] > 0


def test_the_links_of_a_coarse_profile_are_kept(tmp_path, store, open_links, cache):
    of = measurer(tmp_path, store)
    first = obtain(of, open_links)
    edited(cache, in_one_unit)

    def opened(_):
        raise AssertionError("all cuts were timed")

    assert another_run(of, opened).about["link_interval"] == first.about["link_interval"]


def test_parts_are_kept_as_they_were_timed(tmp_path, store, open_links, cache):
    obtain(measurer(tmp_path, store), open_links)
    kept = json.loads(next(cache.iterdir()).read_text())
    one = next(ms for units, device, ms in kept["times"] if len(units) == 1 and device == 0)
    assert one == pytest.approx([10 / OPS + fake_backend.CALL_MS] * 3, rel=0.05)


def in_units_with_a_gap(kept):
    kept["unit_of"] = [unit + (unit > 0) for unit in kept["unit_of"]]


def of_fewer_groups(kept):
    kept["unit_of"] = kept["unit_of"][1:]


def of_a_unit_that_is_not_there(kept):
    kept["times"][0][0] = [999]


def of_a_device_that_is_not_there(kept):
    kept["times"][0][1] = 2


def with_a_time_of_zero(kept):
    kept["times"][0][2] = [0.0, 0.0, 0.0]


def with_tensors_between_three_devices(kept):
    kept["splits"][0][3] = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def with_a_size_that_no_tensor_has(kept):
    kept["splits"][0][4] = 10**30


def with_a_piece_on_a_device_that_is_not_there(kept):
    kept["alone"][0][0] = -1


def with_more_cuts_than_there_are(kept):
    kept["cuts"] = len(CUTS) + 1


@pytest.mark.parametrize(
    "damage",
    [
        in_units_with_a_gap,
        of_fewer_groups,
        of_a_unit_that_is_not_there,
        of_a_device_that_is_not_there,
        with_a_time_of_zero,
        with_tensors_between_three_devices,
        with_a_size_that_no_tensor_has,
        with_a_piece_on_a_device_that_is_not_there,
        with_more_cuts_than_there_are,
    ],
)
def test_a_profile_that_cannot_be_is_none(tmp_path, store, open_links, cache, damage):
    of = measurer(tmp_path, store)
    obtain(of, open_links)
    key = next(cache.iterdir()).stem
    assert TimedParts.find(key, of.session.problem)
    edited(cache, damage)
    assert TimedParts.find(key, of.session.problem) is None


def test_a_kept_profile_is_scaled_to_the_latencies_of_the_run(tmp_path, store, open_links):
    of = measurer(tmp_path, store)
    first = obtain(of, open_links)
    slower = [
        replace(b, measurement=replace(b.measurement, samples_ms=tuple(1.1 * ms for ms in b.measurement.samples_ms)))
        for b in measure_baselines(of, of.session.config.measure, silent)
    ]
    with closing(RunStore(Path(":memory:"))) as other:
        second = obtain_costs(Measurer(of.session, other), slower, silent, open_links)
    uniform = np.repeat([[0], [1]], OPS, axis=1)
    np.testing.assert_allclose(latency_ms(second.table, uniform), 1.1 * latency_ms(first.table, uniform), rtol=1e-6)


def test_a_part_that_failed_is_not_timed_again(tmp_path, store, open_links, cache):
    of = measurer(tmp_path, store, failing(lambda c: c.part == (5,) and c.placement.used == ("CPU_1",)))
    first = obtain(of, open_links)
    edited(cache, without_the_last_three)
    of.session.pool.measure = direct().measure
    second = another_run(of, open_links)
    assert first.about["failed"] == second.about["failed"] == 1


def with_an_edge_to_nowhere(costs):
    costs["edges"][1][0] = 99999


def with_an_edge_from_nowhere(costs):
    costs["edges"][0][0] = -1


def with_a_reader_that_is_not_there(costs):
    costs["traffic"]["readers"][0] = 99999


def with_a_writer_that_is_not_there(costs):
    costs["traffic"]["source"][0] = 99999


def with_a_tensor_along_no_edge(costs):
    costs["traffic"]["readers"][0] = costs["traffic"]["source"][0]


@pytest.mark.parametrize(
    "damage",
    [
        with_an_edge_to_nowhere,
        with_an_edge_from_nowhere,
        with_a_reader_that_is_not_there,
        with_a_writer_that_is_not_there,
        with_a_tensor_along_no_edge,
    ],
)
def test_damaged_costs_are_found_out_anew(tmp_path, store, open_links, damage):
    of = measurer(tmp_path, store)
    first = obtain(of, open_links).table.to_dict()
    costs = store.get("costs")
    damage(costs)
    store.put("costs", costs)
    assert stored_costs(store) is None
    assert obtain(of, open_links).table.to_dict() == first == stored_costs(store).to_dict()


def test_a_run_without_costs_has_none(store):
    assert stored_costs(store) is None


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
