"""Sizes of the graphs of HSDAG's models, constants and FP16 conversions among the nodes.

HSDAG's Table 1 has 396/411, 728/764 and 1009/1071 nodes and edges; docs/explanation/systems/hsdag.md says what the
prepared models lack of the latter two. The width of the small BERT gives its attention a scale that f16 holds exactly,
as that of the real one is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace import zoo
from ovplace.core.device import Device
from ovplace.core.problem import Problem
from ovplace.features.op_type import Config, Feature
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.placers.hsdag.network.policy_graph import policy_graph
from ovplace.plugins import registry

ALL_DEVICES = (Device("GPU", "GPU", {}), Device("CPU", "CPU", {}))


def prepared(name, folder, **options):
    """Return the graph of a small model of the same structure."""
    recipe, file = zoo.recipe(name), folder / "source.xml"
    zoo.save_recipe(name, replace(recipe.SMALL, **options), file, fp16=True)
    prepare(file, folder / "prepared.xml")
    return read_graph(file), read_graph(folder / "prepared.xml")


@pytest.mark.parametrize(
    ("name", "options", "built", "fine", "coarse", "groups"),
    [
        ("resnet-50", {}, (396, 411), (396, 411), (237, 252), (176, 126, 37)),
        ("inception-v3", {}, (698, 732), (698, 732), (411, 445), (314, 218, 66)),
        ("inception-v3", {"transform_input": True}, (730, 766), (726, 762), (439, 475), (327, 231, 70)),
        ("bert-base", {"hidden": 64}, (983, 1041), (969, 1027), (743, 801), (423, 397, 112)),
    ],
)
def test_graphs_have_these_nodes_and_edges(name, options, built, fine, coarse, groups, tmp_path):
    source, graph = prepared(name, tmp_path, **options)
    assert size(source) == built
    assert size(graph) == fine
    legal, merged = legal_groups(graph), colocated(graph, nodes="operations")
    variants = ((legal, "operations"), (merged, "colocated"))
    nodes = [policy_graph(problem(graph, partition), nodes=kind, costs=False) for partition, kind in variants]
    assert [(len(of), of.edges.shape[1]) for of in nodes] == [fine, coarse]
    assert (legal.n_groups, merged.n_groups, colocated(graph).n_groups) == groups


@pytest.mark.parametrize(
    ("name", "options", "groups"),
    [
        ("recurrent", {"index": 4}, (19, 1)),
        ("decoder", {}, (26, 12)),
        ("unet", {}, (69, 9)),
        ("detector-head", {}, (176, 51)),
    ],
)
def test_models_have_these_groups_and_so_many_after_their_co_location(name, options, groups, tmp_path):
    """The configuration of `seq2seq` places the latter: of one model, a single group."""
    zoo.save_recipe(name, zoo.recipe(name).Config(**options), tmp_path / "source.xml")
    prepare(tmp_path / "source.xml", tmp_path / "prepared.xml")
    graph = read_graph(tmp_path / "prepared.xml")
    assert (legal_groups(graph).n_groups, colocated(graph).n_groups) == groups


def colocated(graph, **settings):
    colocate, legal = registry.load("coarseners", "colocate"), legal_groups(graph)
    anywhere = legal.every(np.ones((len(graph), 1), dtype=bool))
    return colocate.factory(colocate.config(settings)).coarsen(graph, legal, anywhere)


def size(graph):
    return len(graph), graph.edges.shape[1]


def problem(graph, partition):
    features = Feature(Config()).compute(graph)
    return Problem(graph, partition, ALL_DEVICES, np.ones((len(graph), 2), dtype=bool), features)
