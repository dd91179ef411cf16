"""Runs of a model that another run has profiled: what the cache keeps is not timed again."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.config.schema import ProfilingConfig
from ovplace.core.measurement import ErrorKind
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.ir.parts.link_model import save_link_model
from ovplace.profiling import parts as profiler_module
from ovplace.profiling.links import CUTS, PIECES, LinkBench
from ovplace.profiling.obtain import obtain_costs
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.cache import VARIABLE, find_profile, keep_profile
from ovplace.store.run_db import RunStore
from ovplace.testing import fake_backend
from ovplace.testing.sessions import OPS, DirectPool, direct
from tests.profiling.profiles import (
    another_run,
    counting,
    edited,
    failing,
    measurer,
    obtain,
    without_the_last_three,
)


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


@pytest.mark.parametrize("change", ["seed", "damage", "reuse", "deadline"])
def test_another_question_is_measured_anew(tmp_path, store, open_links, cache, change):
    pool, asked = counting()
    obtain(measurer(tmp_path, store, pool), open_links)
    count = len(asked)
    of = measurer(tmp_path, other := RunStore(tmp_path / "other.db"), pool, seed=1 if change == "seed" else 0)
    if change == "damage":
        next(cache.iterdir()).write_text('{"format": 3, "unit_of": "?"}')
    if change == "reuse":
        of.session.config = replace(of.session.config, profiling=ProfilingConfig(reuse=False))
    if change == "deadline":
        of.session.config = replace(of.session.config, measure=replace(of.session.config.measure, deadline_s=600.0))
    found = obtain(of, open_links)
    other.close()
    assert len(asked) == 2 * count and not found.about["reused"]


def test_a_cache_that_cannot_be_written_is_none(tmp_path, store, open_links, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    assert not keep_profile("key", {})
    assert find_profile("key") is None
    assert obtain(measurer(tmp_path, store), open_links).table.n_groups == OPS


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


def test_what_a_run_beside_it_has_timed_meanwhile_stays(tmp_path, store, open_links, cache):
    of = measurer(tmp_path, store)
    obtain(of, open_links)
    kept = next(cache.iterdir())
    everything = kept.read_text()
    kept.unlink()
    real = of.session.pool.measure

    def measure(candidates, spec):
        if not any(candidate.part for candidate in candidates):
            return real(candidates, spec)
        kept.write_text(everything)
        raise TimeIsUpError

    of.session.pool.measure = measure
    assert another_run(of, open_links).about["measured"] == 0
    assert json.loads(kept.read_text())["times"] == json.loads(everything)["times"]


THIRDS = np.repeat(np.arange(3), OPS // 3).tolist()


def in_thirds(kept):
    kept["unit_of"] = THIRDS
    kept["times"] = [[[unit], device, [9.0, 10.0, 11.0]] for unit in range(3) for device in (0, 1)]


@pytest.mark.parametrize("cuts", [len(CUTS) - 1, len(CUTS)])
@pytest.mark.parametrize("requests", [0, 1])
def test_a_coarse_profile_stays_where_the_time_was_up_after_fewer_finer_parts(
    tmp_path, store, open_links, cache, monkeypatch, cuts, requests
):
    monkeypatch.setattr(profiler_module, "REQUEST_S", 0.0)  # each unit is timed by itself
    pool, asked = counting()
    of, measured = measurer(tmp_path, store, pool), pool.measure
    obtain(of, open_links)
    edited(cache, in_thirds)
    edited(cache, lambda kept: kept.update(cuts=cuts))
    asked.clear()

    def measure(candidates, spec):
        if candidates[0].part and len(asked) >= 2 * requests:
            raise TimeIsUpError
        return measured(candidates, spec)

    pool.measure = measure
    assert another_run(of, open_links).about["measured"] == 2 * requests
    kept = json.loads(next(cache.iterdir()).read_text())
    assert (kept["unit_of"], len(kept["times"]), kept["cuts"]) == (THIRDS, 6, len(CUTS))


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
    assert first.about["failed"] == second.about["failed"] == second.about["guessed"] == 1


def test_a_part_for_which_there_was_too_little_memory_is_timed_again(tmp_path, store, open_links):
    too_large = failing(lambda c: c.part == (5,) and c.placement.used == ("CPU_1",), ErrorKind.MEMORY)
    of = measurer(tmp_path, store, too_large)
    first = obtain(of, open_links)
    of.session.pool.measure = direct().measure
    second = another_run(of, open_links)
    assert (first.about["failed"], second.about["failed"], second.about["estimated"]) == (1, 0, 0)


def test_pairs_of_a_part_that_failed_in_another_run_are_not_missing(tmp_path, store, open_links, cache):
    obtain(measurer(tmp_path, store), open_links)

    def failing_alone(kept):  # as where two runs at the same time differ, and keep what both have timed
        next(time for time in kept["times"] if time[:2] == [[5], 1])[2] = None

    edited(cache, failing_alone)
    again = another_run(measurer(tmp_path, store), open_links)
    assert (again.about["failed"], again.about["estimated"], again.about["reused"]) == (1, 0, True)
