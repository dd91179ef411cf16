"""Placements run in stages as long as the first one takes as long as by HETERO."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.measurement import Candidate
from ovplace.core.placement import Placement
from ovplace.search.staging import Staging, note_agreement, stages_over_hetero, staging_notes
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import QUICK, DirectPool, direct, session


@pytest.fixture
def staging(tmp_path):
    """Return a function that makes a `Staging` on the fake backend, all of one run."""
    store = RunStore(tmp_path / "run.db")

    def make(wanted=True, **options):
        of = session(tmp_path, direct(**options))
        alone = Placement.uniform(len(of.graph), of.problem.device_names[0], of.problem.device_names)
        return Staging(Measurer(of, store), Candidate("CPU_0", alone, reference=True), QUICK, wanted)

    yield make
    store.close()


def split(using, first=1):
    of = using.measurer.session.problem
    return of.lift((np.arange(of.n_groups) >= first).astype(int))


def test_stages_that_take_as_long_as_hetero_are_used(staging):
    using = staging(split=0.7)
    assert using.candidate("a", split(using)).staged
    assert stages_over_hetero(using.measurer.store) == {"a": 1.0}
    assert using.candidate("b", split(using, 2)).staged


def test_a_placement_is_compared_with_itself_under_names_of_its_own(staging):
    using, asked = staging(split=0.7), []

    def measure(candidates, spec):
        asked.extend((candidate.name, candidate.staged) for candidate in candidates)
        return direct(split=0.7).measure(candidates, spec)

    using.measurer.session.pool = DirectPool(measure)
    using.candidate("a", split(using))
    assert asked == [("a in stages", True), ("CPU_0", False), ("a in stages", True), ("a", False)]
    assert using.measurer.store.get("stages_over_hetero") == {"a": 1.0}


def test_outputs_do_not_matter_to_how_long_stages_take(staging):
    using = staging(fault="wrong_outputs")
    using.measurer.error_limit = 0.1
    assert using.candidate("a", split(using)).staged
    assert stages_over_hetero(using.measurer.store) == {"a": 1.0}


def test_what_failed_is_not_noted_and_what_was_noted_stays(staging):
    store = staging().measurer.store
    note_agreement(store, {"a": 1.1})
    note_agreement(store, {"b": float("inf"), "c": 0.9})
    assert stages_over_hetero(store) == {"a": 1.1, "c": 0.9}


def test_a_damaged_note_is_none(staging):
    store = staging().measurer.store
    store.put("stages_over_hetero", "much")
    assert stages_over_hetero(store) == {}


def test_two_of_three_that_take_another_time_do_not_decide(staging):
    using = staging(split=0.7)
    store = using.measurer.store
    note_agreement(store, {"a": 1.3, "b": 0.7})
    assert using.candidate("c", split(using)).staged, "the third agrees"
    assert list(stages_over_hetero(store)) == ["a", "b", "c"]
    assert staging_notes(store) == []


def test_three_that_take_another_time_decide(staging):
    using = staging(split=0.7)
    store = using.measurer.store
    note_agreement(store, {"a": 1.3, "b": 0.7, "c": 1.2, "a finalist": 1.0})
    assert not using.candidate("d", split(using)).staged
    assert len(stages_over_hetero(store)) == 4
    assert staging_notes(store) == [
        "in stages, the first 3 placements took 0.70 to 1.30 times as long as by HETERO; "
        "the search measured whole placements instead"
    ]


def test_a_placement_on_one_device_has_no_stages_and_decides_nothing(staging):
    using = staging(split=0.7)
    names = using.measurer.session.problem.device_names
    one = Placement.uniform(len(using.measurer.session.graph), names[0], names)
    assert not using.candidate("a", one).staged
    assert stages_over_hetero(using.measurer.store) == {}


def test_a_placement_that_fails_decides_nothing(staging):
    using = staging(fault="fail")
    assert using.candidate("a", split(using)).staged
    assert stages_over_hetero(using.measurer.store) == {}


def test_stages_that_are_not_wanted_are_not_tried(staging):
    using = staging(wanted=False, split=0.7)
    assert not using.candidate("a", split(using)).staged
    assert stages_over_hetero(using.measurer.store) == {}


def test_a_slow_placement_is_not_compared_and_decides_nothing(staging):
    """Its stages are compiled and run a few times; HETERO would compile it for seconds and run it a dozen times."""
    using, asked = staging(), []

    def measure(candidates, spec):
        asked.append(([candidate.name for candidate in candidates], spec))
        return direct(split=QUICK.hopeless_ratio * 1.1).measure(candidates, spec)

    using.measurer.session.pool = DirectPool(measure)
    assert using.candidate("slow", split(using)).staged
    assert asked == [(["slow in stages", "CPU_0"], QUICK.one_sample())]
    assert stages_over_hetero(using.measurer.store) == {}
    using.measurer.session.pool = direct(split=QUICK.hopeless_ratio * 0.9)
    assert using.candidate("faster", split(using)).staged
    assert stages_over_hetero(using.measurer.store) == {"faster": 1.0}


def test_after_two_that_take_another_time_a_slow_one_does_not_decide(staging):
    using = staging(split=10.0)
    note_agreement(using.measurer.store, {"a": 1.3, "b": 0.7})
    assert using.candidate("slow", split(using)).staged
    assert len(stages_over_hetero(using.measurer.store)) == 2
