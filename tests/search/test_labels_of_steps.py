"""Steps that are told name devices as results do: emulated and simulated ones are called that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ovplace.core.device import Device
from ovplace.search.time_limit import with_labels
from ovplace.session.events import Progress
from ovplace.testing.sessions import direct, session


def test_steps_name_emulated_devices_as_such():
    of = session(Path(), direct())
    of.selection = replace(of.selection, devices=(Device("GPU", "GPU", emulated=True), Device("CPU", "CPU")))
    told: list[str] = []
    listener = with_labels(lambda event: told.append(event.text), of)
    for phase, text in (
        ("baselines", "HETERO:GPU,CPU (automatic)"),
        ("final comparison", "trial 3 against GPU"),
        ("search", "0.9"),
    ):
        listener(Progress(phase, text=text))
    assert told == ["HETERO:GPU (emulated),CPU (automatic)", "trial 3 against GPU (emulated)", "0.9"]


def test_steps_name_simulated_devices_as_such():
    of = session(Path(), direct())
    of.selection = replace(of.selection, simulated="two-gpus")
    told: list[str] = []
    with_labels(lambda event: told.append(event.text), of)(Progress("baselines", text="CPU_0"))
    assert told == ["CPU_0 (simulated)"]
