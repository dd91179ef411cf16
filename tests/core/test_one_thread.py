"""The number of threads belongs to the process, whose threads enter and leave the context in any order."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from ovplace.core import one_thread as module
from ovplace.core.one_thread import ENVIRONMENT, one_thread


@pytest.fixture(autouse=True)
def two():
    """Begin with two threads, on machines with one processor, too."""
    assert scipy.linalg.norm(np.zeros(2)) == 0, "both have their libraries"
    with threadpool_limits(2, user_api="blas"):
        yield


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


class Run:
    """A block in a thread of its own, which ends when it is told to."""

    def __init__(self):
        self.begun, self.told = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        assert self.begun.wait(60)

    def work(self):
        with one_thread():
            self.begun.set()
            assert self.told.wait(60)

    def end(self):
        self.told.set()
        self.thread.join()


def test_runs_that_overlap_leave_as_many_threads_as_before_them():
    for _ in range(2):
        first, second = Run(), Run()
        first.end()
        assert threads() == {1}
        second.end()
        assert threads() == {2}


def test_a_failing_block_within_another_lifts_nothing():
    with one_thread():
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert threads() == {1}
    assert threads() == {2}


def test_what_is_loaded_within_a_block_has_one_thread_too():
    lines = [
        "from ovplace.core.one_thread import one_thread",
        "from threadpoolctl import threadpool_info",
        "with one_thread():",
        "    import scipy.linalg",
        "    print({library['num_threads'] for library in threadpool_info() if library['user_api'] == 'blas'})",
    ]
    environment = {key: value for key, value in os.environ.items() if key not in ENVIRONMENT}
    found = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**environment, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "{1}"


def enter():
    with one_thread():
        assert threads() == {1}


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot fork")
def test_a_process_that_is_forked_while_a_block_begins_is_not_locked_out(monkeypatch):
    begins = threading.Event()

    class SlowController(ThreadpoolController):
        def __init__(self):
            begins.set()
            time.sleep(0.3)
            super().__init__()

    monkeypatch.setattr(module, "ThreadpoolController", SlowController)
    other = threading.Thread(target=enter)
    other.start()
    assert begins.wait(60)
    fork = multiprocessing.get_context("fork").Process(target=enter)
    fork.start()
    fork.join(60)
    fork.kill()
    assert fork.exitcode == 0
    other.join()
