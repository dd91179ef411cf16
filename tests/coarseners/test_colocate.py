from __future__ import annotations

import numpy as np
import openvino as ov
import pytest

from ovplace.coarseners.colocate import Coarsener, Config
from ovplace.core.partition import Partition
from ovplace.graphs.colocation import colocation
from ovplace.testing.graphs import chain, diamond, graph, layered
from ovplace.zoo import resnet_50

ANYWHERE = np.ones((3, 1), dtype=bool)


def by_definition(of):
    """HSDAG, appendix G: in topological order, an only child joins its only parent."""
    label = list(range(len(of)))
    for node in of.order.tolist():
        if len(of.successors[node]) == 1:
            (child,) = of.successors[node]
            if of.predecessors[child] == (node,):
                label[child] = label[node]
    return Partition.from_labels(label).group_of


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_definition(seed):
    of = layered(60, seed, width=1 + seed % 4)
    assert np.array_equal(Partition.from_labels(colocation(len(of), of.edges)).group_of, by_definition(of))


def test_a_chain_is_one_set_and_the_ends_of_a_diamond_stay_alone():
    assert colocation(8, chain(("Add",) * 8).edges).tolist() == [0] * 8
    assert Partition.from_labels(colocation(6, diamond().edges)).group_of.tolist() == [0, 1, 1, 2, 2, 3]


def test_a_tensor_read_twice_is_read_by_one_child():
    assert colocation(2, graph(("Sin", "Multiply"), [(0, 1), (0, 1)]).edges).tolist() == [0, 0]


def test_works_on_the_legal_groups():
    of = chain(("Constant", "MatMul", "Relu", "Sin"))
    legal = Partition(np.array([0, 0, 1, 2]))
    assert Coarsener(Config()).coarsen(of, legal, ANYWHERE).n_groups == 1


def test_chains_of_operations_join_the_legal_groups_that_they_cross():
    of = graph(("Constant", "MatMul", "Relu", "Constant", "MatMul"), [(0, 1), (1, 2), (2, 4), (3, 4)])
    legal = Partition(np.array([0, 0, 1, 2, 2]))
    assert Coarsener(Config("operations")).coarsen(of, legal, ANYWHERE).group_of.tolist() == [0, 0, 0, 1, 1]


def test_resnet_50_as_openvino_writes_it_has_the_published_size(tmp_path):
    """396 nodes and 411 edges are HSDAG's table 1; 237 and 252 follow from applying appendix G to them."""
    path = tmp_path / "resnet_50.xml"
    ov.save_model(resnet_50.build(resnet_50.SMALL), path, compress_to_fp16=True)
    ops = ov.Core().read_model(path).get_ordered_ops()
    index = {op.get_friendly_name(): i for i, op in enumerate(ops)}
    pairs = [
        (index[port.get_source_output().get_node().get_friendly_name()], i)
        for i, op in enumerate(ops)
        for port in op.inputs()
    ]
    of = graph([op.get_type_name() for op in ops], pairs)
    assert of.edges.shape[1] == 411
    assert len(of) == 396
    quotient = Partition.from_labels(colocation(len(of), of.edges)).quotient(of, acyclic=True)
    assert (quotient.n_groups, quotient.edges.shape[1]) == (237, 252)
