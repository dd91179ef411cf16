"""Plug-ins of other packages are named in the errors that they raise; errors of ovplace's own are internal ones."""

from typing import Any

import numpy as np
import pytest

from ovplace.commands.export import export, limits
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.device import Device
from ovplace.core.partition import Partition
from ovplace.errors import DivergedError, UsageError
from ovplace.features.depth import Feature
from ovplace.placers.random import Placer as Own
from ovplace.plugins import registry
from ovplace.plugins.blame import blaming
from ovplace.session.problem import compute_features, form_groups
from ovplace.testing.graphs import layered


class Theirs:
    """A plug-in of another package."""

    target = "answer.txt"

    def write(self, folder, target):
        raise ValueError("wrong")


@pytest.mark.parametrize("error", [ValueError("wrong"), SystemExit(3), OSError("gone")])
def test_only_errors_of_others_are_named(error):
    told = rf"^the placer 'x' failed: {type(error).__name__}: .*; correct tests\.plugins\.test_blame \(--debug shows"
    with pytest.raises(UsageError, match=told) as named, blaming(Theirs, "the placer 'x'"):
        raise error
    assert named.value.__cause__ is error
    with pytest.raises(type(error)) as raised, blaming(Own, "the placer 'random'"):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("error", [DivergedError(), MemoryError(), KeyboardInterrupt()])
def test_what_ovplace_answers_to_passes(error):
    with pytest.raises(type(error)) as raised, blaming(Theirs, "the placer 'x'"):
        raise error
    assert raised.value is error


def test_a_coarsener_and_a_feature_are_named(monkeypatch, tmp_path):
    module = """
from dataclasses import dataclass
from ovplace.plugins import protocols
@dataclass(frozen=True)
class Config: pass
class Coarsener(protocols.Coarsener):
    def coarsen(self, graph, legal, allowed): raise ValueError("wrong")
class Feature(protocols.Feature):
    def compute(self, graph): return [1.0]
"""
    (tmp_path / "blamed").mkdir()
    (tmp_path / "blamed" / "both.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    config = resolved(RunConfig(search=SearchConfig(coarsener="blamed.both", features=("blamed.both",))))
    with pytest.raises(UsageError, match=r"^the coarsener 'blamed\.both' failed: ValueError: wrong"):
        form_groups(config, layered(5, 0))
    with pytest.raises(UsageError, match=r"^the feature 'blamed\.both' failed: ValueError: all the input"):
        compute_features(layered(5, 0), config.plugins.features)


@pytest.mark.parametrize(
    ("name", "returned", "told"),
    [
        ("array", "legal.group_of", "TypeError: coarsen.. returned ndarray in place of a Partition"),
        (
            "short",
            "Partition.identity(3)",
            "ValueError: coarsen.. returned a partition of 3 operations, the model has 5; legal",
        ),
        ("torn", "Partition.identity(5)", "ValueError: coarsen.. tore the legal group 0 apart"),
    ],
)
def test_a_coarsener_that_returns_no_coarser_groups_is_named(monkeypatch, tmp_path, name, returned, told):
    module = f"""
from dataclasses import dataclass
from ovplace.core.partition import Partition
from ovplace.plugins import protocols
@dataclass(frozen=True)
class Config: pass
class Coarsener(protocols.Coarsener):
    def coarsen(self, graph, legal, allowed): return {returned}
"""
    (tmp_path / f"blamed_{name}").mkdir()
    (tmp_path / f"blamed_{name}" / "groups.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("ovplace.ir.legal.groups.legal_groups", lambda _: Partition(np.zeros(5, dtype=np.int64)))
    with pytest.raises(UsageError, match=rf"^the coarsener 'blamed_{name}.groups' failed: {told}"):
        form_groups(RunConfig(search=SearchConfig(coarsener=f"blamed_{name}.groups")), layered(5, 0))


def test_a_feature_that_is_not_finite_is_named(monkeypatch):
    monkeypatch.setattr(Feature, "compute", lambda *_: [[float("nan")]] * 5)
    monkeypatch.setattr(Feature, "__module__", "theirs")
    config = RunConfig(search=SearchConfig(features=("depth",)))
    with pytest.raises(UsageError, match=r"^the feature .depth. failed: ValueError: compute.. returned values"):
        compute_features(layered(5, 0), config.plugins.features)


def test_a_backend_is_named(monkeypatch, tmp_path):
    module = """
from dataclasses import dataclass
from ovplace.plugins import protocols
@dataclass(frozen=True)
class Config: pass
class Backend(protocols.Backend):
    def __init__(self, job): pass
    def facts(self): return {}
    def supported(self): return []
    def measure(self, candidates, spec): return []
    @classmethod
    def available(cls): raise ValueError("wrong")
    own_devices = digest = lambda config: 1 // 0
"""
    (tmp_path / "blamed_backends").mkdir()
    (tmp_path / "blamed_backends" / "one.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    backend = RunConfig(search=SearchConfig(backend="blamed_backends.one")).plugins.backend
    for ask in (backend.problem, backend.own_devices, backend.digest):
        with pytest.raises(
            UsageError, match=r"^the backend 'blamed_backends\.one' failed: .*; correct blamed_backends"
        ):
            ask()


@pytest.mark.parametrize("own", ["x", ("x", ()), ("x", (Device("A", "A"),))])
def test_a_backend_without_usable_devices_is_named(monkeypatch, own):
    module: Any = registry.load("backends", "simulate").module
    theirs = type("Backend", (module.Backend,), {"__module__": "theirs", "own_devices": lambda _: own})
    monkeypatch.setattr(module, "Backend", theirs)
    with pytest.raises(UsageError, match=r"^the backend 'simulate' failed: ValueError: .*; correct theirs"):
        RunConfig(search=SearchConfig(backend="simulate")).plugins.backend.own_devices()


def test_the_limits_of_an_exporter_are_texts(tmp_path):
    (tmp_path / "placement.json").write_text("{}")
    for wrong in ("one text", [3], None):
        theirs = type("Theirs", (Theirs,), {"limits": lambda *_, wrong=wrong: wrong})
        with pytest.raises(UsageError, match=r"^the exporter failed: TypeError: .*; correct "):
            limits(tmp_path, theirs())


def test_an_exporter_is_named(tmp_path):
    (tmp_path / "placement.json").write_text("{}")
    with pytest.raises(UsageError, match=r"^the exporter failed: ValueError: wrong; correct tests\.plugins"):
        export(tmp_path, Theirs())
