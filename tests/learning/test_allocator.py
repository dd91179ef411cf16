"""Freed memory is used again."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import torch
from ovplace.learning.allocator import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    tensors = [torch.ones(500_000) for _ in range(40)]
    del tensors
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
print(faults(), *(faults() for _ in range(5)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left as they are")
def test_tensors_that_were_freed_cost_no_page_faults():
    out = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    first, *later = map(int, out.stdout.split())
    assert first > 1000 and sum(later) < first / 5  # each as many as the first, else
