"""Placements run in stages as long as the first one takes as long as by HETERO."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.placement import Placement
from ovplace.search.staging import Staging, stages_over_hetero
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import QUICK, direct, session


@pytest.fixture
def staging(tmp_path):
    """Return a function that makes a `Staging` on the fake backend, all of one run."""
    store = RunStore(tmp_path / "run.db")

    def make(wanted=True, **options):
        of = session(tmp_path, direct(**options))
        return Staging(Measurer(of, store), QUICK, wanted)

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


def test_stages_that_take_another_time_are_not_used(staging):
    using = staging()  # each candidate's latency is drawn from its hash
    first = using.candidate("a", split(using))
    assert abs(stages_over_hetero(using.measurer.store)["a"] - 1) > 0.15
    assert not first.staged
    assert not staging(split=0.7).candidate("b", split(using, 2)).staged, "the run has decided"


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
