"""Runs with the fake backend that profile, and what the cache keeps of them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.profiling.obtain import obtain_costs, profile_costs
from ovplace.session.baselines import measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing import fake_backend
from ovplace.testing.sessions import DirectPool, direct, session


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


def counting():
    real, asked = direct(), []

    def measure(candidates, spec):
        asked.extend(c for c in candidates if c.part)
        return real.measure(candidates, spec)

    return DirectPool(measure), asked


def obtain(of, open_links):
    return obtain_costs(of, measure_baselines(of, of.session.config.measure, silent), silent, open_links)


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
