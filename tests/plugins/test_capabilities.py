"""A run asks its plug-ins for nothing that `plugins/protocols.py` does not declare."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import ovplace
from ovplace.commands.export import export, exporter
from ovplace.experiments.score import score
from ovplace.plugins import protocols

MODEL = Path(__file__).parents[2] / "models" / "demo.xml"
ROLES = {"Placer": "cut", "Coarsener": "chains", "Feature": "depth", "Backend": "simulate", "Exporter": "json"}
FOLDERS = {"Placer": "placers", "Coarsener": "coarseners", "Feature": "features"} | {
    "Backend": "backends",
    "Exporter": "exporters",
}

RECORDING = '''
"""{name}, which notes what others ask its class and its instances for."""

import json, os, sys
from ovplace.{folder} import {name} as real

Config = real.Config


def note(name, caller):
    asked_by = caller.f_globals.get("__name__", "")
    worker = asked_by == "__main__"  # the measuring process
    if worker or asked_by.startswith("ovplace.") and asked_by not in (real.__name__, "ovplace.plugins.protocols"):
        with open(os.environ["ASKED"], "a") as log:
            log.write(json.dumps(["{kind}", name]) + "\\n")


class Recording(type(real.{kind})):
    def __getattribute__(cls, name):
        note(name, sys._getframe(1))
        return super().__getattribute__(name)


class {kind}(real.{kind}, metaclass=Recording):
    def __getattribute__(self, name):
        note(name, sys._getframe(1))
        return super().__getattribute__(name)
'''


def declared(kind: str) -> set[str]:
    names = {name for base in getattr(protocols, kind).__mro__[:-1] for name in (*vars(base), *base.__annotations__)}
    return {name for name in names if not name.startswith("_")}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Write a recording plug-in for each role, and return what reads their notes."""
    package, log = tmp_path / "recording", tmp_path / "asked.jsonl"
    package.mkdir()
    for kind, name in ROLES.items():
        text = RECORDING.format(kind=kind, name=name, folder=FOLDERS[kind])
        (package / f"{kind.lower()}.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("ASKED", str(log))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(str(tmp_path))

    def read():
        found: dict[str, set[str]] = {kind: set() for kind in ROLES}
        for line in log.read_text(encoding="utf-8").splitlines():
            kind, name = json.loads(line)
            if not name.startswith("__"):
                found[kind].add(name)
        return found

    return read


def test_a_run_asks_for_what_is_declared_only(asked, tmp_path):
    folder = tmp_path / "run"
    ovplace.optimize(
        MODEL,
        folder,
        settings=["backend.machine=two-gpus", "comparison.rounds=2", "comparison.blocks=3"],
        placer="recording.placer",
        coarsener="recording.coarsener",
        features=("recording.feature",),
        backend="recording.backend",
        budget=3,
    )
    score(folder)
    using = exporter("recording.exporter")
    export(folder, using)
    found = asked()
    assert found["Placer"] >= {"needs_costs", "ask", "tell", "state", "info", "certificate"}
    assert found["Backend"] >= {"available", "own_devices", "digest", "simulated", "facts", "supported", "measure"}
    assert found["Exporter"] >= {"write", "target"}
    for kind, names in found.items():
        assert names, f"nothing was asked of the {kind}: the recording is broken"
        assert names <= declared(kind), f"undeclared: {sorted(names - declared(kind))}"


def test_the_recording_sees_what_is_undeclared(asked):
    using = exporter("recording.exporter")
    namespace = {"__name__": "ovplace.somewhere", "using": using}
    exec("getattr(using, 'colour', None)", namespace)
    assert "colour" in asked()["Exporter"] - declared("Exporter")
