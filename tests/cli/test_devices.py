"""`ovplace devices` and `ovplace doctor` show what there is, what is missing, and the command that fixes it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from ovplace.cli import group
from ovplace.cli.output.console import Console
from ovplace.core.device import Device
from ovplace.devices.doctor import Finding

CPU = Device("CPU", "CPU", facts={"full_name": "a processor", "kind": "cpu"})
BROKEN = Device("GPU", "GPU", facts={"problem": "context lost"})
GOOD = Finding("NPU", True, "there is no NPU in this machine")
BAD = Finding("GPU", False, "no /dev/dri: its kernel driver is not loaded", "sudo modprobe xe")


def run(*arguments):
    done = CliRunner().invoke(group, arguments, obj=Console())
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def has(monkeypatch):
    """Return a function that gives this machine some devices only."""
    for function in ("lacking", "examine"):
        monkeypatch.setattr(f"ovplace.devices.doctor.{function}", lambda *_: [GOOD, BAD])

    def give(*devices, problem=""):
        monkeypatch.setattr("ovplace.devices.discover.discover", lambda _: devices)
        monkeypatch.setattr("ovplace.devices.discover.physical_devices", lambda: devices)
        monkeypatch.setattr("ovplace.devices.emulated_gpu.why_unavailable", lambda: problem)

    return give


def test_devices_are_listed_with_those_of_a_search_and_what_is_missing(has):
    has(CPU)
    shown = run("devices")
    assert shown.startswith(f"{CPU.label}\n  name  a processor\n  kind  cpu\n\n")
    assert "\nWithout -d: GPU, CPU (no GPU found" in shown
    assert shown.endswith(f"\nMissing GPU: {BAD.text}\n    {BAD.command}\n")
    found = json.loads(run("devices", "--json"))
    assert [(device["name"], device["emulated"]) for device in found["devices"]] == [("CPU", False), ("GPU", True)]
    assert found["default"]["devices"] == ["GPU", "CPU"]
    assert found["missing"] == [{"device": "GPU", "text": BAD.text, "command": BAD.command}]


def test_devices_of_which_none_works_are_listed_all_the_same(has):
    has(BROKEN, problem="install it")
    shown = run("devices")
    assert shown.startswith(f"{BROKEN.label}\n  problem  context lost\n\n")
    assert "\nWithout -d: none (OpenVINO finds no device" in shown


def test_the_doctor_marks_what_is_to_be_mended(has):
    has(CPU)
    assert run("doctor") == f"ok  {GOOD.text}\n!!  {BAD.text}\n    {BAD.command}\n"
    assert [finding["good"] for finding in json.loads(run("doctor", "--json"))] == [True, False]
