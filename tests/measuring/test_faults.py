"""Children that sleep, crash, hang, lie: each fault becomes a value, and the next request works."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ovplace.api.python_texts import python_text
from ovplace.core.measurement import Candidate, ErrorKind, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.measuring import child as child_module
from ovplace.measuring import children
from ovplace.measuring.child import Child, ChildDiedError, ending
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.process_pool import CLOSE_PATIENCE_S, ProcessPool
from ovplace.testing import fake_backend
from ovplace.testing.sessions import QUICK, job, pool

IMPATIENT = MeasureSpec(warmup=0, blocks=1, repeats=2, min_time_ms=0.0, deadline_s=0.7)
WHOLE = Candidate("whole", Placement.uniform(12, "CPU_0", ("CPU_0", "CPU_1")))
SPLIT = Candidate("split", Placement(np.arange(12) % 2, ("CPU_0", "CPU_1")))


def alive(pid):
    """Return whether there is such a process; a zombie is one, too."""
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
def make():
    made = []

    def start(**options):
        made.append(pool(**options))
        return made[-1]

    yield start
    for each in made:
        each.close()
    assert not children.running_pids()


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("abort", ErrorKind.CRASH, "SIGABRT"),
        ("exit", ErrorKind.CRASH, "exit code 3"),
        ("raise", ErrorKind.CRASH, "ValueError"),
        ("memory", ErrorKind.MEMORY, "MemoryError"),
        ("bad_alloc", ErrorKind.MEMORY, "bad_alloc"),
        ("too_few", ErrorKind.CRASH, "one measurement for each candidate"),
        ("no_measurement", ErrorKind.CRASH, "one measurement for each candidate"),
        ("unpicklable", ErrorKind.CRASH, "ended"),
        ("refused", ErrorKind.CRASH, "may not name collections.defaultdict (a backend has to return plain data"),
        ("nan_samples", ErrorKind.CRASH, "samples must be positive"),
        ("negative", ErrorKind.CRASH, "samples must be positive"),
        ("fail", ErrorKind.COMPILE, "refused"),
    ],
)
def test_a_fault_is_a_value_and_the_next_request_works(make, fault, kind, words):
    pool = make(fault=fault)
    assert pool.measure([WHOLE], QUICK)[0].ok
    measured = pool.measure([SPLIT, WHOLE], QUICK)
    assert len(measured) == 2
    assert measured[0].error == kind
    assert words in measured[0].error_text
    assert "\n" not in measured[0].error_text
    assert [m.ok for m in pool.measure([WHOLE, WHOLE], QUICK)] == [True, True]


@pytest.mark.parametrize("fault", ["sleep", "hang"])
def test_a_hang_ends_at_the_deadline(make, fault):
    pool = make(fault=fault)
    assert pool.measure([WHOLE], QUICK)[0].ok
    pid = pool.pid
    measured = pool.measure([SPLIT, WHOLE], IMPATIENT)
    assert [m.error for m in measured] == [ErrorKind.TIMEOUT] * 2
    assert "0.7 s" in measured[0].error_text
    assert not alive(pid)
    assert pool.measure([WHOLE], QUICK)[0].ok
    assert pool.pid != pid


def test_what_drivers_print_does_not_disturb_the_answers(make):
    assert all(m.ok for m in make(fault="print", on="all").measure([SPLIT, WHOLE], QUICK))


def test_a_backend_that_cannot_work_is_an_error_with_its_own_words(make):
    with pytest.raises(BackendError, match="refuses to work"):
        make(fault="refuse", on="all").measure([WHOLE], QUICK)
    with pytest.raises(BackendError, match="refuses to work"):
        make(fault="refuse", on="build").ask("facts")


@pytest.mark.parametrize("fault", ["exit", "raise"])
def test_a_child_that_never_comes_up_is_an_error_in_one_line(make, fault):
    with pytest.raises(BackendError, match=r"did not come up: .*; if .*, give other shapes") as caught:
        make(fault=fault, on="build").measure([WHOLE], QUICK)
    assert "\n" not in str(caught.value)
    assert "if OpenVINO's 'benchmark_app -d CPU' cannot" in python_text(str(caught.value))


def test_an_import_that_outlasts_the_call_is_an_error_that_asks_for_more_time():
    slow = WorkerSpec(fake_backend.NAME, job(fault="hang", on="preload"), start_s=0.2)
    with closing(ProcessPool(slow)) as pool, pytest.raises(BackendError, match=r"within 0.2 s; .* --time"):
        pool.start()


def test_a_start_that_outlasts_the_call_is_an_error_that_asks_for_more_time():
    slow = WorkerSpec(fake_backend.NAME, job(fault="hang", on="build"), start_s=0.2)
    children.preload(slow)
    children._spares[slow.key].wait_until_imported()
    with closing(ProcessPool(slow)) as pool, pytest.raises(BackendError, match=r"within 0.2 s; .* --time"):
        pool.start()


def test_each_renewal_is_a_fresh_process(make):
    pool, seen = make(), []
    for _ in range(3):
        pool.renew()
        assert pool.measure([WHOLE], QUICK)[0].ok
        seen.append(pool.pid)
    assert len(set(seen)) == 3


def test_a_spare_process_that_died_is_replaced(make):
    pool = make()
    pool.renew()
    for pid in set(children.running_pids()) - {pool.pid}:
        os.kill(pid, signal.SIGKILL)
    pool.renew()
    assert pool.measure([WHOLE], QUICK)[0].ok


def test_killing_all_children_takes_the_spare_one_along(make):
    make().renew()
    pids = children.running_pids()
    assert len(pids) == 2
    children.kill_all()
    end = time.monotonic() + 10
    waiting = set(pids)
    while waiting and time.monotonic() < end:
        waiting = {pid for pid in waiting if not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)}
        time.sleep(0.01)
    assert not waiting


def test_a_spare_process_that_dies_while_it_imports_is_replaced(make, monkeypatch):
    original, imported = Child.wait_until_imported, []

    def wait(self, *arguments):
        imported.append(self.pid)
        if len(set(imported)) == 2:  # the first spare
            self.kill()
            raise self._death()
        return original(self, *arguments)

    monkeypatch.setattr(Child, "wait_until_imported", wait)
    pool = make()
    for _ in range(2):
        pool.renew()
        assert pool.measure([WHOLE], QUICK)[0].ok


def test_a_child_killed_while_it_starts_is_started_again(make, monkeypatch):
    original, killed = Child.build, []

    def build(self, *arguments):
        if not killed:
            killed.append(self.pid)
            self.kill()
        return original(self, *arguments)

    monkeypatch.setattr(Child, "build", build)
    assert make().measure([WHOLE], QUICK)[0].ok
    assert killed


def test_a_query_that_crashes_is_an_error(make):
    with pytest.raises(BackendError, match="'no_such_method'"):
        make().ask("no_such_method")


def in_the_middle(log, act, *arguments):
    """Act as soon as a backend has noted a request, which it then hangs in."""
    while not log.exists():
        time.sleep(0.01)
    act(*arguments)


def test_a_killed_child_is_a_crash_and_is_replaced(make, tmp_path):
    pool = make(fault="sleep", on="all", log=str(tmp_path / "log"))
    pool.ask("facts")
    pid = pool.pid
    killing = threading.Thread(target=in_the_middle, args=(tmp_path / "log", os.kill, pid, signal.SIGKILL))
    killing.start()
    assert pool.measure([WHOLE], MeasureSpec(deadline_s=60.0))[0].error == ErrorKind.CRASH
    killing.join()
    assert not alive(pid)
    assert pool.ask("facts")


def test_children_are_recycled():
    pids = []
    with closing(ProcessPool(WorkerSpec(fake_backend.NAME, job(), recycle_after=2))) as pool:
        for _ in range(4):
            pool.ask("facts")
            pids.append(pool.pid)
    assert pids[1] is None
    assert pids[3] is None
    assert pids[0] != pids[2]


def test_a_child_that_was_large_is_recycled(make, monkeypatch):
    pool = make()
    monkeypatch.setattr(children, "_memory_mib", lambda: 1.0)
    pool.ask("facts")
    assert not children.running_pids()


def test_closing_ends_a_running_request_and_leaves_no_process(make, tmp_path):
    pool = make(fault="sleep", on="all", log=str(tmp_path / "log"))
    pool.ask("facts")
    pid, found = pool.pid, []
    waiting = threading.Thread(target=lambda: found.append(pool.measure([WHOLE], MeasureSpec(deadline_s=60.0))))
    waiting.start()
    in_the_middle(tmp_path / "log", pool.close)
    waiting.join(30.0)
    assert not waiting.is_alive()
    assert found[0][0].error == ErrorKind.CRASH
    assert not alive(pid)
    pool.close = lambda: None  # its executor is gone


def test_a_thread_that_runs_out_of_memory_is_noticed_and_leaves_no_process(monkeypatch):
    """`concurrent.futures` allocates to pass an error on; where it cannot, its thread ends and nobody is told."""
    pool = ProcessPool(WorkerSpec(fake_backend.NAME, job()))
    pool.ask("facts")
    monkeypatch.setattr("concurrent.futures.thread._WorkItem.run", no_memory)
    with pytest.raises(MemoryError):
        pool.ask("facts")
    with pytest.raises(MemoryError):
        pool.recycle()
    pool.close()
    assert not children.running_pids()


def test_an_answer_that_there_was_no_memory_for_is_not_taken_for_the_next_one(make, monkeypatch):
    pool = make()
    pool.ask("facts")
    pid = pool.pid
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(Child, "call", no_memory)
        pool.ask("facts")
    assert pool.pid is None
    assert not alive(pid)
    assert pool.ask("facts")


def no_memory(*_, **__):
    raise MemoryError


def test_the_same_workplace_shares_one_child_and_another_does_not(make):
    a, b, other = make(), make(), make(version="2")
    assert a.facts() == b.facts() != other.facts()
    assert len(children.running_pids()) == 2


def test_closing_lets_a_request_of_an_equal_pool_end(make):
    options = {"delay_s": 4 * CLOSE_PATIENCE_S}
    closed, busy, found = make(**options), make(**options), []
    busy.start()
    waiting = threading.Thread(target=lambda: found.extend(busy.measure([WHOLE], QUICK)))
    waiting.start()
    time.sleep(CLOSE_PATIENCE_S)
    closed.close()
    waiting.join(30.0)
    assert found[0].ok, found[0].error_text
    closed.close = lambda: None  # its executor is gone


@pytest.fixture
def child():
    started = Child(fake_backend.NAME, job())
    started.build()
    yield started
    started.close()


def test_a_request_that_a_stopped_process_does_not_read_ends_at_its_deadline(child):
    watch = threading.Timer(10.0, child.kill)
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    watch.start()
    with pytest.raises(ChildDiedError, match="SIGKILL"):
        child.call("facts", bytes(2**20), deadline_s=0.2)
    assert not watch.finished.is_set()
    watch.cancel()


def test_a_process_that_no_signal_ends_is_left_behind(monkeypatch):
    stuck = Child(fake_backend.NAME, job())
    stuck.build()
    kill = stuck.kill
    monkeypatch.setattr(stuck, "kill", lambda: None)
    for limit in ("EXIT_DEADLINE_S", "KILL_DEADLINE_S"):
        monkeypatch.setattr(child_module, limit, 0.1)
    closing_it = threading.Thread(target=stuck.close, daemon=True)
    closing_it.start()
    closing_it.join(10.0)
    assert not closing_it.is_alive() and alive(stuck.pid)
    assert "hangs, and no signal ends it" in str(stuck._death())
    kill()
    assert stuck._process.wait() == -signal.SIGKILL
    for stream in (stuck._process.stdin, stuck._process.stdout, stuck._errors):
        stream.close()


def test_a_deadline_may_be_longer_than_a_clock_can_wait(child):
    assert child.call("facts", deadline_s=1e10)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="elsewhere the peak is its own")
def test_the_memory_of_the_caller_is_not_taken_for_that_of_its_processes():
    held = np.ones(2**25)
    with closing(Child(fake_backend.NAME, job())) as child:
        child.build()
        assert 0 < child.peak_mib < held.nbytes / 2**20


def test_a_signal_without_a_name_is_told_by_its_number():
    assert ending(-35, b"") == "killed by signal 35"
    assert ending(-9, b"over\nand out") == "killed by SIGKILL: over and out"
