"""Whatever happens to the measuring process, the run ends with a verdict, and every failure is stored as a value."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from dataclasses import replace

import pytest

from ovplace.core.measurement import Candidate, ErrorKind, Measurement
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.measuring import children
from ovplace.session.baselines import _nothing_works
from ovplace.store.run_db import RunStore
from ovplace.testing.graphs import diamond
from ovplace.testing.sessions import QUICK, pool, run_session, session

IMPATIENT = replace(QUICK, deadline_s=1.5)


@pytest.fixture
def run(tmp_path):
    """Return a function that runs to the verdict and checks that the store holds what the run saw."""

    def act(spec=QUICK, budget=10, **options):
        using, store = pool(**options), RunStore(tmp_path / "run.db")
        try:
            played = run_session(session(tmp_path, using, spec=spec, placer="random", budget=budget), store)
            assert repr(store.trials()) == repr(played.trials)
        finally:
            using.close()
            store.close()
        assert not children.running_pids()
        assert len(played.trials) == budget
        assert played.comparison.verdict.status in ("faster", "same", "baseline")
        return played

    return act


@pytest.mark.parametrize(
    ("fault", "kind", "budget"),
    [("fail", ErrorKind.COMPILE, 30), ("abort", ErrorKind.CRASH, 4), ("raise", ErrorKind.CRASH, 4)],
)
def test_if_nothing_but_the_baselines_works_a_baseline_is_the_answer(run, fault, kind, budget):
    played = run(fault=fault, budget=budget)
    assert {t.measurement.error for t in played.trials if not t.placement.is_uniform} == {kind}
    assert (played.comparison.verdict.status, played.comparison.origin) == ("baseline", "CPU_0")


@pytest.mark.slow
def test_a_backend_that_hangs_on_some_placements(run):
    played = run(IMPATIENT, fault="hang", on="some", budget=5)
    errors = [t.measurement.error for t in played.trials]
    assert set(errors) == {None, ErrorKind.TIMEOUT}
    assert all((t.ratio == float("inf")) == (t.measurement.error is not None) for t in played.trials)


def test_outputs_that_are_not_numbers_do_not_win(run):
    played = run(fault="nan_outputs", on="split", budget=3)
    split = [t.measurement for t in played.trials if not t.placement.is_uniform]
    assert {m.error for m in split} == {ErrorKind.OUTPUT_MISMATCH}
    assert played.comparison.verdict.status == "baseline"


def is_there(group):
    """Return whether a process group has a process, a zombie too."""
    try:
        os.killpg(group, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def test_a_child_that_is_killed_at_random(run):
    over, kills = threading.Event(), []

    def kill():
        rng = random.Random(3)
        starting = True
        while not over.wait(rng.uniform(0.05, 0.7)) and len(kills) < 10:
            for worker in list(children._seats.values()):
                # Three that die in a row while they start end the run, as they should.
                if worker.child.pid not in kills and not (starting and worker.served == 0):
                    starting = worker.served == 0
                    kills.append(worker.child.pid)
                    worker.child.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        played = run(delay_s=0.03, budget=25)
    finally:
        over.set()
        killer.join()
    assert kills
    assert {t.measurement.error for t in played.trials} <= {None, ErrorKind.CRASH}
    assert sum(t.measurement.ok for t in played.trials) > 10
    end = time.monotonic() + 30
    while any(map(is_there, kills)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not [pid for pid in kills if is_there(pid)]


def test_if_not_even_the_baselines_work_it_is_said_why(run):
    with pytest.raises(BackendError, match=r"no single device runs the model .*CPU_0: compile: refused"):
        run(fault="fail", on="all")


def test_if_it_is_the_outputs_of_all_more_error_is_to_be_allowed(run):
    with pytest.raises(BackendError, match=r"no single device runs the model .*; allow larger errors with --max-error"):
        run(fault="nan_outputs", on="all")


@pytest.mark.parametrize(
    ("kind", "other", "advice"),
    [
        (
            "RandomUniform",
            ErrorKind.COMPILE,
            "the model draws random numbers (RandomUniform), allow larger errors with --max-error or choose",
        ),
        ("Sin", ErrorKind.COMPILE, "; choose other devices with -d"),
        ("Sin", ErrorKind.TIMEOUT, "; raise measure.deadline_s with --set or choose other devices with -d"),
    ],
)
def test_where_no_device_works_the_advice_fits_the_model_and_the_failures(kind, other, advice):
    graph = replace(diamond(), types=(kind,) * len(diamond()))
    alone = [Candidate(name, Placement.uniform(len(graph), name)) for name in ("CPU_0", "GPU")]
    failed = [Measurement.failed(error, "...") for error in (ErrorKind.OUTPUT_MISMATCH, other)]
    assert advice in _nothing_works(graph, alone, failed)


def test_a_backend_that_gives_up_ends_the_run_with_its_own_words(run):
    with pytest.raises(BackendError, match="refuses to work"):
        run(fault="refuse", on="split")
