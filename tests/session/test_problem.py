import numpy as np
import pytest

from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.device import Device
from ovplace.core.problem import Problem
from ovplace.errors import PlacementError
from ovplace.ir.legal.groups import legal_groups
from ovplace.seeds import generator
from ovplace.session.problem import form_groups, make_problem
from ovplace.testing.graphs import chain, layered

DEVICES = (Device("A", "A"), Device("B", "B"))


def problem(coarsener, graph, supported) -> Problem:
    return make_problem(RunConfig(SearchConfig(coarsener=coarsener)), graph, DEVICES, supported)


@pytest.mark.parametrize("coarsener", ["colocate", "metis", "chains"])
@pytest.mark.parametrize("seed", range(3))
def test_no_coarsener_joins_for_good_what_no_device_supports_together(coarsener, seed):
    graph = layered(150, seed=seed)
    supported = generator(seed, "supported").random((len(graph), 2)) < 0.7
    supported[~supported.any(axis=1), 0] = True
    formed = problem(coarsener, graph, supported)
    assert formed.allowed.any(axis=1).all()
    assert formed.n_groups < legal_groups(graph).n_groups
    assert formed.quotient.is_acyclic


def test_only_groups_without_a_device_are_split():
    graph = chain(("Add",) * 5)
    config = RunConfig(SearchConfig(coarsener="colocate"))
    assert form_groups(config, graph, np.ones((5, 2), dtype=bool)).group_of.tolist() == [0, 0, 0, 0, 0]
    supported = np.array([[True, False]] * 2 + [[False, True]] * 3)
    assert form_groups(config, graph, supported).group_of.tolist() == [0, 1, 2, 3, 4]


def test_an_operation_that_no_device_supports_is_named():
    supported = np.array([[True, True], [False, False]])
    with pytest.raises(PlacementError, match=r"can run the group of operation 'Add_1' \(Add\); add a device with -d"):
        problem("colocate", chain(("Add", "Add")), supported)
