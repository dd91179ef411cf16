"""The contract sees red."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.testing.contracts.feature import FeatureContract, feature_cases
from tests.broken_plugins import as_plugin, written_plugin


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
        getattr(FeatureContract(), check)(as_plugin("features", Feature=feature), feature_cases()["random"], *rest)


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
    with written_plugin("features", HASH_ORDER, tmp_path, monkeypatch) as plugin, pytest.raises(AssertionError):
        FeatureContract().test_same_rows_in_another_process(plugin)
