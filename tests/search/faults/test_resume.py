"""A run that was stopped and continued asks for the same placements as one that never was."""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ovplace.core.device import Device
from ovplace.core.placement import Placement
from ovplace.plugins import registry
from ovplace.search import loop
from ovplace.search.explore import make_loop
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import Deadline
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.graphs import layered
from ovplace.testing.sessions import OPS, QUICK, direct, run_session, session
from ovplace.testing.slow import slow_except
from tests.killed_runs import killed_after

PLACERS = slow_except(["annealing", "cut"], registry.names("placers"))
"""How a run goes on does not depend on the placer: one that learns from each answer, and one whose list is fixed."""


KILLED = [name for name in registry.names("placers") if name not in ("fc_grouper", "hierarchical")]
"""The state of these two is kept as that of `seq2seq`, and each process takes seconds to load torch."""


class StopError(Exception):
    pass


def run(folder, listener=lambda _: None, change=lambda of: None, **search):
    folder.mkdir(exist_ok=True)
    store = RunStore(folder / "run.db")
    try:
        of = session(folder, direct(log=str(folder / "log")), **search)
        change(of)
        return run_session(of, store, listener)
    finally:
        store.close()


def measured(folder):
    """Return how often each candidate was measured, by hash; those that had a name of their own."""
    log = folder / "log"
    return Counter(line.split()[1] for line in log.read_text().splitlines()) if log.exists() else Counter()


def stop_after(steps):
    """Return a listener that stops the run at a step behind the baselines."""
    left = [steps]

    def listener(progress):
        left[0] -= progress.phase != "baselines"
        if left[0] < 0:
            raise StopError

    return listener


def in_pieces(folder, **search):
    """Run a few steps at a time until it is over; return the result and the number of pieces."""
    rng = random.Random(5)
    for piece in range(200):
        try:
            return run(folder, stop_after(rng.randint(1, 8)), **search), piece
        except StopError:
            continue
    raise AssertionError("it never ends")


def same(a, b):
    assert a.hashes == b.hashes
    assert [t.ratio for t in a.trials] == [t.ratio for t in b.trials]
    assert a.comparison.verdict.status == b.comparison.verdict.status
    assert a.comparison.placement.hash == b.comparison.placement.hash


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("placer", PLACERS)
def test_stopping_anywhere_changes_nothing(tmp_path, placer, batch):
    search = {"placer": placer, "batch": batch, "budget": 18}
    whole = run(tmp_path / "whole", **search)
    pieces, count = in_pieces(tmp_path / "pieces", **search)
    assert count or len(whole.trials) < 8
    same(pieces, whole)
    assert measured(tmp_path / "pieces") == measured(tmp_path / "whole")


@pytest.mark.parametrize("placer", PLACERS)
def test_a_larger_budget_continues_where_the_smaller_one_ended(tmp_path, placer):
    whole = run(tmp_path / "whole", placer=placer, budget=15, batch=4)
    small = run(tmp_path / "small", placer=placer, budget=6, batch=4)
    assert small.hashes == whole.hashes[: len(small.hashes)]
    more = run(tmp_path / "small", placer=placer, budget=15, batch=4)
    # The last batch of the smaller budget was cut short, so the placer may ask for others than in the whole run.
    assert more.hashes[: len(small.hashes)] == small.hashes
    assert len(more.hashes) == len(whole.hashes)


@pytest.mark.parametrize("placer", slow_except(["annealing", "cut"], KILLED))
def test_a_run_killed_at_any_moment_continues_as_if_it_had_not_been(tmp_path, placer):
    whole = run(tmp_path / "whole", placer=placer, budget=14, batch=2)
    folder, kills = tmp_path / "killed", 0
    folder.mkdir()
    rng = random.Random(placer)
    command = [sys.executable, "-m", "ovplace.testing.sessions", str(folder), str(folder / "log"), placer, "2"]

    def piece():
        return killed_after(command, rng.randint(4, 16), is_counted, rng.uniform(0, 0.01))

    while not (said := piece()).startswith("verdict"):
        kills += 1
    assert kills or len(whole.trials) < 8
    assert said.split()[1] == whole.comparison.verdict.status
    store = RunStore(folder / "run.db")
    trials = store.trials()
    store.close()
    assert [t.placement.hash for t in trials] == whole.hashes
    again, once = measured(folder), measured(tmp_path / "whole")
    assert set(again) == set(once)
    assert sum((again - once).values()) <= 3 * kills  # a heat is lost as a whole


def is_counted(said):
    return not said.startswith("baselines")


def test_nothing_is_measured_twice(tmp_path):
    first = run(tmp_path, placer="random", budget=10)
    before = measured(tmp_path)
    same(run(tmp_path, placer="random", budget=10), first)
    assert measured(tmp_path) == before


def test_what_a_placer_repeats_is_answered_from_the_store(tmp_path, monkeypatch):
    real = registry.load("placers", "random")
    placer: Any = real.factory

    class Repeats(placer):
        def ask(self, n):
            return [placement for placement in super().ask(n) for _ in range(3)]

    monkeypatch.setattr(real.module, "Placer", Repeats)
    played = run(tmp_path, placer="random", budget=6)
    assert [t.cached for t in played.trials] == [False, True, True] * 5 + [False]
    assert len({t.ratio for t in played.trials[:3]}) == 1
    found = measured(tmp_path)
    most = 1 + 2 + 2  # the search, two heats of three, two rounds of the final comparison
    assert all(found[t.placement.hash] <= most for t in played.trials if not t.placement.is_uniform)


def other_spec(of):
    of.config = replace(of.config, measure=replace(QUICK, repeats=2))


def other_driver(of):
    of.selection = replace(
        of.selection, devices=tuple(Device(d.name, "CPU", facts={"driver": "2"}) for d in of.devices)
    )


def other_properties(of):
    of.selection = replace(of.selection, devices=tuple(Device(d.name, "CPU", {"A": "1"}) for d in of.devices))


def other_runtime(of):
    of.facts = {"openvino": "another"}


def other_model(of):
    of.graph = replace(of.graph, content_hash="another")


def other_inputs(of):
    of.config = replace(of.config, search=replace(of.config.search, seed=1))


@pytest.mark.parametrize(
    "change", [other_spec, other_driver, other_properties, other_runtime, other_model, other_inputs]
)
def test_another_setting_is_measured_anew(tmp_path, change):
    of, store = (
        session(tmp_path, direct(log=str(tmp_path / "log")), placer="random", budget=3),
        RunStore(tmp_path / "db"),
    )
    run_session(of, store)
    before = measured(tmp_path)
    change(of)
    run_session(of, store)
    store.close()
    after = measured(tmp_path)
    assert all(after[key] > before[key] > 0 for key in hashes_of_singles())


def hashes_of_singles():
    return {Placement.uniform(OPS, name).hash for name in ("CPU_0", "CPU_1")}


def test_a_time_limit_ends_the_search_and_the_next_session_goes_on(tmp_path):
    ticks = iter(range(10_000))
    of = session(tmp_path, direct(), graph=layered(OPS, seed=3), placer="random", budget=50)
    store = RunStore(Path(":memory:"))
    measurer = Measurer(of, store)
    reference = measure_baselines(measurer, QUICK, lambda _: None)[0]
    lengths = []
    for _ in range(3):
        search = make_loop(measurer, reference, lambda _: None)
        measurer.deadline = Deadline(next(ticks) + 20.0, clock=lambda: float(next(ticks)))
        lengths.append(len(search.run()))
    assert 0 < lengths[0] < lengths[1] < lengths[2] < 50
    assert [t.number for t in store.trials()] == list(range(lengths[2]))
    store.close()


def test_a_placer_with_nothing_left_to_ask_ends_the_search(tmp_path):
    played = run(tmp_path, placer="single_device", budget=50)
    assert 0 < len(played.trials) < 5


@pytest.mark.parametrize(("batch", "asked"), [(1, 6), (3, 9)])
def test_a_placer_that_only_repeats_itself_ends_the_search(tmp_path, monkeypatch, batch, asked):
    monkeypatch.setattr(loop, "IDLE", 5)
    real = registry.load("placers", "single_device")
    placer: Any = real.factory

    class Stuck(placer):
        def ask(self, n):
            return self._placements[:1] * n

    monkeypatch.setattr(real.module, "Placer", Stuck)
    played = run(tmp_path, placer="single_device", budget=50, batch=batch)
    assert len(played.trials) == asked
