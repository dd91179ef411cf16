"""A cache, a store, and a bench of links for runs that profile with the fake backend."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from ovplace.ir.parts.link_model import save_link_model
from ovplace.profiling.links import PIECES, LinkBench
from ovplace.store.cache import VARIABLE
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import direct


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
