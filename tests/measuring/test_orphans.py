"""A child whose parent is killed ends by itself, in the middle of whatever it does."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ovplace.measuring.interpreter import running

PARENT = """
import sys, threading, time
import numpy as np
from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.testing.sessions import pool

fault, deadline_s = sys.argv[1], float(sys.argv[2])
local = pool(fault=fault, on="all", log=sys.argv[3])
local.ask("facts")
print(local.pid, flush=True)
local.measure([Candidate("x", Placement.uniform(12, "CPU_0"))], MeasureSpec(deadline_s=deadline_s))
print("answered", flush=True)
time.sleep(60)
"""


def gone(pid, within_s):
    end = time.monotonic() + within_s
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.02)
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize(("fault", "deadline_s"), [("fail", 60.0), ("sleep", 60.0), ("hang", 1.0)])
def test_a_child_ends_with_its_parent(tmp_path, fault, deadline_s):
    log = tmp_path / "log"
    command = [sys.executable, "-c", PARENT, fault, str(deadline_s), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        while not log.exists():
            time.sleep(0.01)
        if fault == "fail":
            parent.stdout.readline()
        parent.kill()
    assert gone(pid, 30.0)


def test_a_child_whose_parent_was_killed_in_the_middle_of_a_message_ends():
    half = pickle.dumps("x" * 1000)[:500]
    command = running("ovplace.measuring.worker")
    done = subprocess.run(command, input=half, capture_output=True, start_new_session=True, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL
