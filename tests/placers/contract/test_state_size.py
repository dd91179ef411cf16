"""What is stored with each placement asked for does not grow with the number of trials, for any placer."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from ovplace.placers._base import log
from ovplace.plugins import registry
from ovplace.store import run_db
from ovplace.store.run_db import RunStore
from ovplace.testing.contracts.placer import answered, by_hash
from ovplace.testing.graphs import chain, problem
from ovplace.testing.slow import slow_except

OF = problem(chain(("Convolution", "Add", "Sin", "MatMul") * 4), n_devices=3)
TRIALS = 150
SMALL = 500
"""Characters from which texts are stored apart here, so that few trials fill many of them."""

SLACK = SMALL + 150
"""Characters of a text that is not full, and of the names of texts, whose number grows with the logarithm of their
length. A row a trial would add 1,500 in the second half, at least."""

SETTINGS = {
    "hsdag": {"warm_start": 1, "epochs": 1, "steps": 30},
    "fc_grouper": {"hidden": 8, "group_hidden": 8},
    "hierarchical": {"hidden": 8, "group_hidden": 8, "attention": 4},
    "seq2seq": {"hidden": 8, "attention": 4},
    "placeto": {"measured": True, "imitation": 1, "updates": 1, "proposals": 30, "window": 1},
    "min_cut": {"sweeps": 1, "draws": 0},
}
"""Settings that take less time, and have what is bounded full before half of the trials."""

BOUNDED = {"cut"}
"""Their states grow up to a size that the problem sets: `cut` has as many placements as cuts of the group order."""

SLOW = {"hsdag", "placeto", "min_cut", "optuna", "fc_grouper", "hierarchical", "seq2seq", "milp"}


GROWING = {*registry.names("placers")} - BOUNDED


@pytest.mark.parametrize("name", slow_except(sorted(GROWING - SLOW), sorted(GROWING)))
def test_what_is_stored_anew_does_not_grow(name, tmp_path, monkeypatch):
    monkeypatch.setattr(log, "CHUNK", SMALL)
    monkeypatch.setattr(run_db, "_LONG", SMALL - 100)
    sizes = stored_sizes(name, tmp_path / "run.db")
    half = len(sizes) // 2
    assert max(sizes[half:]) <= max(sizes[:half]) + SLACK


def test_that_growth_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "CHUNK", 1_000_000)
    sizes = stored_sizes("random", tmp_path / "run.db")
    assert max(sizes[TRIALS // 2 :]) > max(sizes[: TRIALS // 2]) + 2 * SLACK


def stored_sizes(name, path):
    """Return the size of the checkpoint's row after each ask of a search, in characters."""
    plugin = registry.load("placers", name)
    placer, store, sizes = plugin.factory(OF, plugin.config(SETTINGS.get(name, {}))), RunStore(path), []
    with closing(store), closing(sqlite3.connect(path)) as db:
        while len(sizes) < TRIALS and (asked := placer.ask(1)):
            store.save_checkpoint(placer.state(), dict(enumerate(asked, len(sizes))))
            sizes.append(*db.execute("SELECT length(state) + length(pending) FROM checkpoint").fetchone())
            placer.tell(answered(asked, by_hash))
    assert np.min(sizes) > 0
    return sizes
