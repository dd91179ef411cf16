"""The contract sees red."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.testing.contracts.coarsener import CoarsenerContract, coarsener_cases
from tests.broken_plugins import as_plugin, written_plugin


class Broken:
    def __init__(self, config):
        self.calls = 0


class TearsGroups(Broken):
    def coarsen(self, graph, legal, allowed):
        return Partition.identity(len(graph))


class ClosesCycles(Broken):
    def coarsen(self, graph, legal, allowed):
        return legal.then(Partition.from_labels(np.arange(legal.n_groups) % 2))


class Unseeded(Broken):
    def coarsen(self, graph, legal, allowed):
        return legal.then(Partition.from_labels(np.random.default_rng().integers(9, size=legal.n_groups)))


class ReadsNames(Broken):
    def coarsen(self, graph, legal, allowed):
        other = bool(graph.names) and "other" in graph.names[0]
        return legal.then(Partition(np.zeros(legal.n_groups))) if other else legal


@pytest.mark.parametrize(
    ("check", "coarsener", "case"),
    [
        ("test_legal_groups_stay_whole", TearsGroups, "groups of two"),
        ("test_closes_no_cycle", ClosesCycles, "random"),
        ("test_deterministic", Unseeded, "random"),
        ("test_names_do_not_matter", ReadsNames, "random"),
    ],
)
def test_a_defect_is_seen(check, coarsener, case):
    with pytest.raises((AssertionError, ValueError)):
        getattr(CoarsenerContract(), check)(as_plugin("coarseners", Coarsener=coarsener), coarsener_cases()[case])


HASH_ORDER = """
from dataclasses import dataclass
import numpy as np
from ovplace.core.partition import Partition

@dataclass(frozen=True)
class Config: pass

class Coarsener:
    def __init__(self, config): pass
    def coarsen(self, graph, legal, allowed):
        labels = np.random.default_rng(abs(hash("a string"))).integers(9, size=legal.n_groups)
        return legal.then(Partition.from_labels(labels))
"""


def test_a_dependence_on_string_hashes_is_seen(tmp_path, monkeypatch):
    with written_plugin("coarseners", HASH_ORDER, tmp_path, monkeypatch) as plugin, pytest.raises(AssertionError):
        CoarsenerContract().test_same_groups_in_another_process(plugin)
