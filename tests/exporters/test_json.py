"""The rules of OpenVINO's hello_affinity (pull request 36634), as its reader applies them."""

import json

import openvino as ov
import pytest

from ovplace.errors import UsageError
from ovplace.exporters.json import Config, Exporter


class RefusedError(Exception):
    """What the sample throws."""


def hello_affinity(model, affinity, device):
    """Return the device of each operation as the sample resolves them.

    Args:
        model: the IR.
        affinity: the value of `--affinity`.
        device: the value of `-d`.
    """
    if not str(affinity).endswith(".json"):
        raise RefusedError("taken for a device")
    listed = device.removeprefix("HETERO:").split(",")
    given = json.loads(affinity.read_text(encoding="utf-8"))
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise RefusedError("not a flat object of strings")
    if strange := set(given.values()) - set(listed):
        raise RefusedError(f"devices not in -d: {strange}")
    found = {}
    for op in ov.Core().read_model(model).get_ops():
        key = next((name for name in (op.get_friendly_name(), op.get_name()) if name in given), None)
        if key is None:
            raise RefusedError(f"no device for {op.get_friendly_name()}")
        found[key] = given[key]
    if unknown := set(given) - set(found):
        raise RefusedError(f"unknown operations: {unknown}")
    return found


@pytest.fixture
def exporter():
    return Exporter(Config())


def test_the_sample_reads_the_placement(exporter, nasty, tmp_path, table):
    (path,) = exporter.write(nasty, tmp_path / "p.json")
    assert hello_affinity(nasty / "placed.xml", path, "HETERO:CPU,CPU_B") == table
    first, *rest, last = path.read_text(encoding="utf-8").splitlines()
    assert (first, last) == ("{", "}")
    assert all(line.startswith('"') for line in rest)
    assert "hello_affinity -m runs/x/placed.xml" in exporter.next_step("runs/x", [path])


@pytest.mark.parametrize("change", [{"schema": "1"}, {"conv": 3}, None])
def test_the_reader_of_this_test_can_refuse(change, exporter, nasty, tmp_path, table):
    path = tmp_path / "p.json"
    path.write_text(json.dumps([] if change is None else {**table, **change}))
    with pytest.raises(RefusedError):
        hello_affinity(nasty / "placed.xml", path, "HETERO:CPU,CPU_B")


def test_another_ending_is_refused(exporter, nasty, tmp_path):
    with pytest.raises(UsageError, match=r"must end in \.json"):
        exporter.write(nasty, tmp_path / "placement.txt")


def test_it_says_which_placements_the_sample_cannot_load(exporter, nasty, emulated, plain):
    variants, changed = exporter.limits(nasty)
    assert "CPU_B (CPU with INFERENCE_PRECISION_HINT:f32)" in variants
    assert "CPU without INFERENCE_PRECISION_HINT:f32" in changed
    assert "emulated" in exporter.limits(emulated)[-1]
    assert exporter.limits(plain) == ()
