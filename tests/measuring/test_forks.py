"""A process that is forked while its parent measures can measure, too, and leaves its parent's measuring alone."""

import gc
import multiprocessing
import threading
import time
from contextlib import closing

import pytest

from ovplace.core.measurement import Candidate
from ovplace.core.placement import Placement
from ovplace.measuring.children import running_pids
from ovplace.measuring.isolated_call import isolated_call
from ovplace.testing.sessions import QUICK, pool

WHOLE = Candidate("whole", Placement.uniform(12, "CPU_0"))


def measured_in_a_fork(inherited):
    assert not running_pids()
    gc.collect()
    with closing(pool(delay_s=0.1)) as own:
        assert own.measure([WHOLE], QUICK)[0].ok
        assert not set(running_pids()) & set(inherited)


def forked_during_a_request():
    """Fork while a thread measures; return whether the fork measured, and what became of the parent's measuring."""
    with closing(pool(delay_s=3.0)) as measuring:
        measuring.start()
        pid, found = measuring.pid, []
        request = threading.Thread(target=lambda: found.extend(measuring.measure([WHOLE], QUICK)))
        request.start()
        time.sleep(0.5)
        fork = multiprocessing.get_context("fork").Process(target=measured_in_a_fork, args=([pid],))
        fork.start()
        fork.join(60.0)
        fork.kill()
        request.join()
        return fork.exitcode, found[0].ok, bool(measuring.facts()), measuring.pid == pid


@pytest.mark.slow
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot fork")
def test_a_process_that_is_forked_during_a_request_measures_by_itself():
    # In a process without the threads of other tests and their locks.
    assert isolated_call("forking", forked_during_a_request) == (0, True, True, True)
