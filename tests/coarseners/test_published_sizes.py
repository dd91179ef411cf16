"""Sizes of ResNet-50's graph as HSDAG reports them, constants and FP16 conversions among the nodes."""

from __future__ import annotations

import numpy as np
import openvino as ov

from ovplace import zoo
from ovplace.core.partition import Partition
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.plugins import registry


def test_resnet_50_has_396_nodes_and_237_after_co_location(tmp_path):
    recipe, file = zoo.recipe("resnet-50"), tmp_path / "source.xml"
    ov.save_model(recipe.build(recipe.Config()), file, compress_to_fp16=True)
    prepare(file, tmp_path / "prepared.xml")
    graph = read_graph(tmp_path / "prepared.xml")
    assert (len(graph), graph.edges.shape[1]) == (396, 411)  # HSDAG, Table 1
    colocate = registry.load("coarseners", "colocate")
    each = Partition(np.arange(len(graph)))
    sets = colocate.factory(colocate.Config()).coarsen(graph, each)
    assert (sets.n_groups, sets.quotient(graph).edges.shape[1]) == (237, 252)
