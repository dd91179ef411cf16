"""How far off the outputs of a placement may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.core.device import Device
from ovplace.core.measurement import ErrorKind, Measurement, OutputError
from ovplace.search.explore import limiting_baselines
from ovplace.search.time_limit import expected_s
from ovplace.session.deadline import Phase
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.session.outputs import error_limit, inexact_notes
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import DirectPool, direct, session

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
FAILED = Measurement.failed(ErrorKind.CRASH, "gone")


def off_by(error):
    return Measurement((1.0,), (1,), outputs=(OutputError("y", error, error, 1.0),))


def on(*properties, default="", **search):
    """Return a session on CPUs with the given properties, whose plugin takes a precision by default."""
    of = session(Path(), direct(), **search)
    facts = {"default_precision": default}
    devices = tuple(Device(f"CPU_{i}", "CPU", given, facts) for i, given in enumerate(properties))
    of.selection = replace(of.selection, devices=devices)
    return of


BF16 = {"INFERENCE_PRECISION_HINT": "bf16"}
INF = float("inf")


@pytest.mark.parametrize(
    ("of", "errors", "limit"),
    [
        (on(F32, F32, max_error=0.25), [0.4, 0.1], 0.25),
        (on(F32, {}, max_error=0.0), [0.4, 0.1], 0.0),
        (on(F32, {}, max_error=INF), [0.4, 0.1], INF),
        (on(F32, F32), [0.4, 0.1], 1e-3),
        (on({}, {}), [0.4, 0.1], 0.8),
        (on({}, F32), [0.4, 0.1], 0.8),
        (on(F32, {}), [0.4, 0.1], 0.2),  # a device in f32 that is further off is at fault
        (on(F32, {}, default="bf16"), [0.4, 0.1], 0.2),
        (on(F32, {}, default="f32"), [0.4, 0.1], 1e-3),
        (on(BF16, {}, default="f32"), [0.4, 0.1], 0.8),
        (on(F32, {}), [1e-6, None], 1e-3),
        (on({}, {}), [None, None], 1e-3),
        (on({}, {}, {}), [0.1, 5e37, 0.4], 0.8),  # one has lost the signal
        (on({}, {}), [INF, 0.1], 0.2),
        (on({}, {}), [3.0, 2.0], 4.0),  # all amplify rounding
    ],
)
def test_it_is_the_users_or_that_of_f32_or_twice_that_of_the_worst_rounding_device(of, errors, limit):
    assert error_limit(of, [FAILED if error is None else off_by(error) for error in errors]) == limit


@pytest.mark.parametrize(
    ("of", "limit"), [(on(F32, {}), INF), (on(F32, F32), 1e-3), (on(F32, {}, max_error=0.25), 0.25)]
)
def test_before_the_devices_are_measured_only_what_is_certain_limits(of, limit):
    assert error_limit(of) == limit


def test_devices_whose_precision_changes_the_outputs_much_are_named_where_they_set_the_limit():
    errors = {"CPU": 0.26, "GPU": 0.05, "NPU": 0.4}
    (note,) = inexact_notes(on({}, {}, {}), errors)
    assert note.startswith("outputs in a device's own precision are off (CPU 0.26, NPU 0.4, relative")
    assert inexact_notes(on({}, {}, {}, max_error=1.0), errors) == inexact_notes(on({}), {"CPU": 0.1}) == ()


def measuring(errors, store, *properties, **search):
    """Return a measurer whose candidates are off by what `errors` says of their names, else by nothing."""
    of = on(*properties, **search)
    of.pool = DirectPool(lambda candidates, spec: [off_by(errors.get(one.name, 0.0)) for one in candidates])
    return Measurer(of, store)


@pytest.fixture
def store():
    opened = RunStore(Path(":memory:"))
    yield opened
    opened.close()


def test_the_limit_of_placements_is_twice_the_error_of_the_worst_device_alone(store):
    of = measuring({"CPU_0": 0.1, "CPU_1": 0.2, "AUTO:CPU_0,CPU_1": 0.9}, store, {}, {})
    found = limiting_baselines(of, silent)
    assert all(baseline.measurement.ok for baseline in found)
    assert of.error_limit == 0.4


@pytest.mark.parametrize(("first", "error"), [(F32, 0.5), ({}, 5e37), ({}, INF)])
def test_a_device_at_fault_fails_and_is_no_reference_however_fast_it_is(store, first, error):
    of = measuring({"CPU_1": 0.1}, store, first, {})
    fast, slow = replace(off_by(error), samples_ms=(0.1,)), off_by(0.1)
    of.session.pool = DirectPool(lambda candidates, _: [fast if one.name == "CPU_0" else slow for one in candidates])
    reference, failed, *_ = limiting_baselines(of, silent)
    assert (reference.name, reference.ratio, of.error_limit) == ("CPU_1", 1.0, 0.2)
    assert (failed.name, failed.measurement.error) == ("CPU_0", ErrorKind.OUTPUT_MISMATCH)


@pytest.mark.parametrize("second", [F32, {}])
def test_an_automatic_mode_that_may_be_the_answer_keeps_to_the_limit_of_placements(store, second):
    of = measuring({}, store, F32, second)
    on_first = replace(off_by(0.9), submodels=("CPU_0",))
    targets = {"HETERO:CPU_0,CPU_1": on_first, "AUTO:CPU_0,CPU_1": on_first}
    of.session.pool = DirectPool(lambda candidates, _: [targets.get(one.target, off_by(0.0)) for one in candidates])
    [failed] = [baseline for baseline in limiting_baselines(of, silent) if not baseline.measurement.ok]
    assert (failed.name, failed.ratio) == ("HETERO:CPU_0,CPU_1 (automatic)", float("inf"))
    assert failed.measurement.error == ErrorKind.OUTPUT_MISMATCH


@pytest.mark.parametrize(
    ("search", "works", "limit"), [({}, False, 1e-3), ({"max_error": 0.0}, False, 0.0), ({"max_error": 0.1}, True, 0.1)]
)
def test_devices_in_f32_and_those_that_the_user_limits_have_to_keep_to_it(store, search, works, limit):
    of = measuring({"CPU_1": 2e-3}, store, F32, F32, **search)
    assert {b.name: b.measurement.ok for b in limiting_baselines(of, silent)}["CPU_1"] == works
    assert of.error_limit == limit


def test_after_the_baselines_it_is_known_how_long_the_rest_takes(store):
    of = measuring({}, store, {}, {}, budget=10)
    found = limiting_baselines(of, silent)
    assert (of.time.search_s, of.time.comparison_s) == expected_s(of.session, found)
    assert 0 < of.seconds.baselines < 60
    assert (of.phase, of.seconds.comparison) == (Phase.BASELINES, 0.0)
