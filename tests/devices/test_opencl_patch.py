"""The machine code that stands in for functions of the emulated GPU's OpenCL driver."""

from __future__ import annotations

import ctypes as c
import platform
import struct
import sys

import pytest

from ovplace.devices import opencl_patch

if sys.platform != "linux" or platform.machine() != "x86_64":
    pytest.skip("the code is for Linux on x86-64", allow_module_level=True)

GET_PROFILING = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint, c.c_size_t, c.c_void_p, c.c_void_p)
NOT_AVAILABLE = -7
ARGUMENTS = (0x1234_5678_9ABC, 0x1283, 8, 0x1111_2222_3333, 0x4444_5555_6666)


@pytest.mark.parametrize(
    ("answers", "expected", "calls"),
    [
        ([0], 0, 1),
        ([-30], -30, 1),
        ([NOT_AVAILABLE, NOT_AVAILABLE, 0], 0, 3),
        ([NOT_AVAILABLE] * 9, NOT_AVAILABLE, 5),
    ],
    ids=["there", "refused", "late", "never"],
)
def test_times_that_are_not_there_yet_are_asked_for_again(answers, expected, calls):
    asked = []

    def driver(*arguments):
        asked.append(arguments)
        return answers[len(asked) - 1]

    real, pause = GET_PROFILING(driver), c.create_string_buffer(struct.pack("<qq", 0, 1000), 16)
    address = c.cast(real, c.c_void_p).value
    _memory, at = opencl_patch._executable(opencl_patch._times_code(address, 5, pause))
    assert GET_PROFILING(at)(*ARGUMENTS) == expected
    assert asked == [ARGUMENTS] * calls
