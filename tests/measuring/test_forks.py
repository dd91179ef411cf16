"""A process that is forked while its parent measures can measure, too, and leaves its parent's measuring alone."""

import gc
import multiprocessing
import threading
import time
from contextlib import closing

import pytest

from ovplace.core.measurement import Candidate
from ovplace.core.placement import Placement
from ovplace.measuring.process_pool import running_pids
from ovplace.testing.sessions import QUICK, pool

WHOLE = Candidate("whole", Placement.uniform(12, "CPU_0"))


def measured_in_a_fork(inherited):
    assert not running_pids()
    gc.collect()
    with closing(pool(delay_s=0.1)) as own:
        assert own.measure([WHOLE], QUICK)[0].ok
        assert not set(running_pids()) & set(inherited)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot fork")
def test_a_process_that_is_forked_during_a_request_measures_by_itself():
    with closing(pool(delay_s=3.0)) as measuring:
        measuring.start()
        pid, found = measuring.pid, []
        request = threading.Thread(target=lambda: found.extend(measuring.measure([WHOLE], QUICK)))
        request.start()
        time.sleep(0.5)
        fork = multiprocessing.get_context("fork").Process(target=measured_in_a_fork, args=([pid],))
        fork.start()
        fork.join(20.0)
        fork.kill()
        assert fork.exitcode == 0
        request.join()
        assert found[0].ok
        assert measuring.facts()
        assert measuring.pid == pid
