"""How far off the outputs of a placement may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.core.device import Device
from ovplace.core.measurement import ErrorKind, Measurement, OutputError
from ovplace.search.explore import F32_LIMIT, error_limit
from ovplace.testing.sessions import direct, session

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
FAILED = Measurement.failed(ErrorKind.CRASH, "gone")


def off_by(error):
    return Measurement((1.0,), (1,), outputs=(OutputError("y", error, error, 1.0),))


def on(*properties, **search):
    """Return a session on CPUs with the given properties."""
    of = session(Path(), direct(), **search)
    devices = tuple(Device(f"CPU_{i}", "CPU", given) for i, given in enumerate(properties))
    of.selection = replace(of.selection, devices=devices)
    return of


@pytest.mark.parametrize(
    ("of", "alone", "limit"),
    [
        (on(F32, F32, max_error=0.25), [off_by(0.4)], 0.25),
        (on(F32, {}, max_error=0.0), [off_by(0.4)], 0.0),
        (on(F32, F32), [off_by(0.4), off_by(0.1)], F32_LIMIT),
        (on(F32, {}), [off_by(0.4), off_by(0.1)], 0.8),
        (on(F32, {}), [off_by(1e-6), FAILED], F32_LIMIT),
        (on({}, {}), [FAILED], F32_LIMIT),
    ],
)
def test_it_is_the_users_or_that_of_f32_or_twice_that_of_the_worst_device(of, alone, limit):
    assert error_limit(of, alone) == limit
