"""The contract sees red."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

from ovplace.plugins.registry import Plugin
from ovplace.testing.contracts.feature import FeatureContract, feature_cases


@dataclass(frozen=True)
class Config:
    pass


class Broken:
    def __init__(self, config):
        pass


class NotFinite(Broken):
    def compute(self, graph):
        return np.log(np.zeros((len(graph), 1)) + 1) / np.inf + np.nan


class OneRowShort(Broken):
    def compute(self, graph):
        return np.zeros((len(graph) - 1, 1))


class Flat(Broken):
    def compute(self, graph):
        return np.zeros(len(graph))


class ReadsIndices(Broken):
    def compute(self, graph):
        return np.arange(len(graph), dtype=np.float64)[:, None]


class ReadsNames(Broken):
    def compute(self, graph):
        return np.array([[float(len(name))] for name in graph.names])


def as_plugin(feature):
    module = ModuleType("broken")
    vars(module).update(Config=Config, Feature=feature)
    return Plugin("features", "broken", module)


@pytest.mark.parametrize(
    ("check", "feature", "rest"),
    [
        ("test_one_finite_row_an_operation", NotFinite, ()),
        ("test_one_finite_row_an_operation", OneRowShort, ()),
        ("test_one_finite_row_an_operation", Flat, ()),
        ("test_reordering_reorders_the_rows", ReadsIndices, (0,)),
        ("test_names_do_not_matter", ReadsNames, ()),
    ],
)
def test_a_defect_is_seen(check, feature, rest):
    with pytest.raises(AssertionError):
        getattr(FeatureContract(), check)(as_plugin(feature), feature_cases()["random"], *rest)


HASH_ORDER = """
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Config: pass

class Feature:
    def __init__(self, config): pass
    def compute(self, graph):
        return np.array([[float(hash(kind) % 1000)] for kind in graph.types])
"""


def test_a_dependence_on_string_hashes_is_seen(tmp_path, monkeypatch):
    (tmp_path / "hash_order_feature.py").write_text(HASH_ORDER)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = import_module("hash_order_feature")

    try:
        with pytest.raises(AssertionError):
            FeatureContract().test_same_rows_in_another_process(Plugin("features", "broken", module))
    finally:
        del sys.modules["hash_order_feature"]
