"""When a search ends that asks for known placements only."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.search.loop import IDLE
from ovplace.store.run_db import RunStore
from ovplace.testing.graphs import chain
from ovplace.testing.sessions import direct, run_session, session

SETTLED = {"preset": "paper", "hidden": 4, "grouping": "fixed", "steps": 10, "learning_rate": 0.0}


@pytest.mark.parametrize(("episodes", "asked"), [(25, 250), (0, None)])
def test_repeated_placements_are_steps_of_a_placer_that_ends(episodes, asked):
    of = session(Path(), direct(ops=2), chain(("Add", "Sin")), placer="hsdag", budget=3000)
    of = replace(
        of,
        problem=replace(of.problem, features=np.eye(2)),
        config=replace(of.config, placer=SETTLED | {"episodes": episodes}),
    )
    with closing(RunStore(Path(":memory:"))) as store:
        trials = run_session(of, store).trials
    assert len({trial.placement.hash for trial in trials}) <= 4
    if asked:
        assert len(trials) == asked
    else:
        assert IDLE <= len(trials) < 2 * IDLE
