"""Runs that are stopped while they profile, and go on with what they have measured."""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from ovplace.config.schema import ProfilingConfig
from ovplace.ir.parts.link_model import save_link_model
from ovplace.profiling import parts as profiler_module
from ovplace.profiling.links import CUTS, PIECES, LinkBench
from ovplace.profiling.obtain import stored_costs
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import DirectPool, direct
from tests.profiling.profiles import measurer, obtain


@pytest.fixture(autouse=True)
def many_requests(monkeypatch):
    """Let each unit, and each pair, be timed by itself."""
    monkeypatch.setattr(profiler_module, "REQUEST_S", 0.0)


def profiled(folder, store, stop_at=None, **profiling):
    """Profile until the request of that number, which stops the run; return the hashes of what was measured."""
    requests, measured = count(), []

    def watched(real):
        def measure(candidates, spec):
            if not candidates[0].part:  # a baseline
                return real.measure(candidates, spec)
            if next(requests) == stop_at:
                raise KeyboardInterrupt
            measured.extend(candidate.hash for candidate in candidates)
            return real.measure(candidates, spec)

        return DirectPool(measure)

    @contextmanager
    def open_links(of):
        n, pieces = save_link_model(folder / "links.xml", PIECES)
        yield LinkBench(n, pieces, of.problem.device_names), watched(direct(ops=n))

    of = measurer(folder, store, watched(direct()))
    of.session.config = replace(of.session.config, profiling=ProfilingConfig(**profiling))
    with suppress(KeyboardInterrupt):
        obtain(of, open_links)
    return measured


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("stop_at", [0, 2, len(CUTS), len(CUTS) + 3, len(CUTS) + 20])
def test_a_run_that_is_stopped_while_it_profiles_goes_on(tmp_path, store, cache, stop_at, reuse):
    with closing(RunStore(Path(":memory:"))) as another:
        everything, costs = profiled(tmp_path, another, reuse=False), stored_costs(another).to_dict()
    first = profiled(tmp_path, store, stop_at, reuse=reuse)
    assert stored_costs(store) is None and not cache.exists()
    second = profiled(tmp_path, store, reuse=reuse)
    assert [*first, *second] == everything
    assert stored_costs(store).to_dict() == costs
    assert cache.exists() == reuse


def test_a_run_that_is_stopped_after_the_last_part_keeps_its_profile_for_others(tmp_path, store, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopping:
        stopping.setattr(profiler_module, "assemble", stop)
        assert profiled(tmp_path, store)
    assert not profiled(tmp_path, store)
    with closing(RunStore(Path(":memory:"))) as another:
        assert not profiled(tmp_path, another)


@pytest.mark.parametrize(
    ("repeats", "damage"),
    [(3, lambda kept: kept), (2, lambda kept: dict.fromkeys(kept, "?")), (2, lambda kept: "?")],
)
def test_what_is_damaged_or_of_other_settings_is_measured_again(tmp_path, store, repeats, damage):
    first = profiled(tmp_path, store, len(CUTS) + 3)
    store.put("timed_parts", damage(store.get("timed_parts")))
    assert profiled(tmp_path, store, len(CUTS) + 3, repeats=repeats) == first
