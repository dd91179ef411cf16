from __future__ import annotations

import math
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Job, Measurement, MeasureSpec, OutputError, kind_of, rotated
from ovplace.core.placement import Placement
from ovplace.errors import DeviceError

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"samples_ms": (1.0,), "blocks": (1,), "error": ErrorKind.CRASH},
        {"samples_ms": (1.0, 2.0), "blocks": (1,)},
        {"samples_ms": (1.0, 2.0), "blocks": (2, 0)},
        {"samples_ms": (1.0, 0.0), "blocks": (2,)},
        {"samples_ms": (1.0, -1.0), "blocks": (2,)},
        {"samples_ms": (1.0, NAN), "blocks": (2,)},
        {"samples_ms": (1.0, INF), "blocks": (2,)},
    ],
)
def test_a_measurement_that_makes_no_sense_cannot_be_built(wrong):
    with pytest.raises(ValueError, match=r"measurement|blocks|samples"):
        Measurement(**wrong)


def test_medians():
    m = Measurement((5.0, 1.0, 3.0, 10.0, 20.0), (3, 2))
    assert m.median_ms == 5.0
    np.testing.assert_array_equal(m.block_medians_ms, [3.0, 15.0])
    assert Measurement.failed(ErrorKind.INFER, "x").median_ms == math.inf


@pytest.mark.parametrize(("values", "largest"), [((), 0.0), ((0.1, 0.3), 0.3), ((0.1, NAN), INF), ((NAN, 0.1), INF)])
def test_the_largest_error_is_never_hidden(values, largest):
    outputs = tuple(OutputError("y", v, v, 1.0) for v in values)
    assert Measurement((1.0,), (1,), outputs=outputs).max_error == largest


@pytest.mark.parametrize(
    "wrong", [{"blocks": 0}, {"repeats": -1}, {"deadline_s": 0}, {"deadline_s": NAN}, {"min_time_ms": INF}]
)
def test_a_spec_is_positive(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MeasureSpec(**wrong)


@pytest.mark.parametrize(("blocks", "of_trial"), [(1, 1), (2, 2), (3, 2), (4, 3), (9, 6)])
def test_a_trial_is_timed_for_less_long(blocks, of_trial):
    spec = MeasureSpec(blocks=blocks, min_time_ms=30.0, repeats=4, deadline_s=7.0)
    assert spec.of_trial() == replace(spec, warmup=0, blocks=of_trial, min_time_ms=15.0)


def test_specs_have_distinct_keys():
    assert MeasureSpec().key() == MeasureSpec().key() != MeasureSpec(blocks=4).key()


def test_a_candidate_is_a_placement_or_a_target():
    placement = Placement.uniform(3, "CPU")
    for wrong in ({}, {"placement": placement, "target": "AUTO"}):
        with pytest.raises(ValueError, match="needs a placement or a target"):
            Candidate("x", **wrong)
    assert Candidate("a", placement).hash == Candidate("b", placement).hash
    assert len({Candidate("x", target=t).hash for t in ("AUTO:CPU", "HETERO:CPU", "CPU")}) == 3


@pytest.mark.parametrize(
    "text", ["std::bad_alloc", "clEnqueue: CL_OUT_OF_RESOURCES", "[GPU] out of memory", "MemoryError in the process"]
)
def test_exhausted_memory_is_told_from_other_errors(text):
    assert kind_of(text, ErrorKind.CRASH) == ErrorKind.MEMORY
    assert kind_of("something else", ErrorKind.CRASH) == ErrorKind.CRASH


def test_devices_and_jobs_travel():
    device = Device("CPU_A", "CPU", {"B": "2", "A": "1"}, {"driver": "x"})
    assert pickle.loads(pickle.dumps(device)) == device == Device.from_dict(device.to_dict())
    job = Job("m.xml", (device,), options={"a": 1})
    assert pickle.loads(pickle.dumps(job)) == job
    assert list(device.properties) == ["A", "B"]
    with pytest.raises(TypeError):
        device.properties["A"] = "3"


@pytest.mark.parametrize("name", ["A", "CPU A", "CPU,B", "CPU{x}", ""])
def test_names_that_openvino_would_refuse(name):
    with pytest.raises(DeviceError, match="device name"):
        Device(name, "CPU")


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_each_item_is_at_each_place_once(count):
    turns = [rotated(range(count), turn) for turn in range(count)]
    assert all(sorted(places) == list(range(count)) for places in (*turns, *zip(*turns, strict=True)))


@pytest.mark.parametrize("count", [3, 4, 5])
def test_none_of_three_or_more_follows_itself(count):
    order = [item for turn in range(2 * count) for item in rotated(range(count), turn)]
    assert all(before != after for before, after in pairwise(order))


def test_a_negative_turn_undoes_the_turn():
    assert rotated(rotated("abcde", 7), -7) == list("abcde")


def test_nothing_takes_no_turns():
    assert rotated([], 3) == []
