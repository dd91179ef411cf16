"""Models that several threads of a program read at the same time."""

from __future__ import annotations

import subprocess
import sys

THREADS = """
import sys
import threading
import openvino
import ovplace.ir.content_hash

sys.setswitchinterval(1e-6)
constants = [openvino.op.Constant(openvino.Type.f32, openvino.Shape([2]), [1.0, 2.0]) for _ in range(6)]
together = threading.Barrier(6)

def read(constant):
    together.wait()
    assert constant.data.size

for constant in constants:
    threading.Thread(target=read, args=[constant]).start()
"""


def test_threads_may_read_the_first_constants_of_a_process_together():
    """OpenVINO alone lets them wait for one another, in most processes."""
    for _ in range(5):
        subprocess.run([sys.executable, "-c", THREADS], check=True, timeout=60)
