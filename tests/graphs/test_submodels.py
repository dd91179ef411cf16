"""HETERO's submodels against those that the installed OpenVINO really forms."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.core.device import Device
from ovplace.core.placement import Placement
from ovplace.devices.variants import register
from ovplace.graphs.op_kinds import GRAPH_INPUTS
from ovplace.graphs.submodels import submodel_labels
from ovplace.ir.affinity import compile_placement, submodel_chain
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import op_graph
from ovplace.seeds import generator
from ovplace.testing.graphs import graph
from ovplace.zoo import cells, demo, detector_head

NAMES = ("CPU_A", "CPU_B")
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
NOTED = re.compile(r'label="(?P<name>[^"\\]*)\\n[^"]*subgraph=(?P<submodel>\d+)')


@pytest.fixture
def hetero(tmp_path, monkeypatch):
    """Return a function that compiles a placement and returns HETERO's submodel of each operation, and its chain."""
    core = ov.Core()
    register(core, [Device(name, "CPU") for name in NAMES])
    monkeypatch.setenv("OPENVINO_HETERO_VISUALIZE", "1")
    monkeypatch.chdir(tmp_path)

    def compiled(model, names, placement):
        chain = submodel_chain(compile_placement(core, model, placement))
        (notes,) = Path().glob("hetero_subgraphs_*.dot")
        found = {note["name"]: int(note["submodel"]) for note in NOTED.finditer(notes.read_text())}
        notes.unlink()
        return np.array([found.get(name, -1) for name in names]), chain

    return compiled


def regions(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def compare(hetero, model, of, placement):
    """Check one placement; graph inputs are not in HETERO's notes, which draw a copy for each reader."""
    labels, chain = hetero(model, of.names, placement)
    computed = ~np.isin(np.array(of.types), GRAPH_INPUTS)
    assert (labels[computed] >= 0).all()
    assert regions(submodel_labels(of, placement.device_of)[computed]) == regions(labels[computed])
    assert sorted(placement.submodels(of)) == sorted(chain)


def random_model(rng):
    """Return a model of additions and others, with shared constants and operations of two outputs."""
    made = [ops.parameter([4], np.float32, name=f"x{i}") for i in range(rng.integers(1, 4))]
    inputs, shared = list(made), ops.constant(np.ones(4, np.float32))

    def pick():
        return made[int(rng.integers(max(0, len(made) - 6), len(made)))]

    def add():
        return ops.add(pick(), pick())

    def halves():
        parts = ops.split(pick(), ops.constant(np.int64(0)), 2)
        return ops.concat([parts.output(0), parts.output(1)], 0)

    makers = [add, add, halves, lambda: ops.relu(pick()), lambda: ops.add(pick(), shared)]
    for _ in range(int(rng.integers(4, 26))):
        made.append(makers[int(rng.integers(len(makers)))]())
    ends = [node for node in made[len(inputs) :] if not node.output(0).get_target_inputs() or rng.random() < 0.1]
    results = [ops.result(node) for node in ends]
    return ov.Model(results, [node for node in inputs if node.output(0).get_target_inputs()])


def random_placement(of, rng):
    """Return a placement of single operations, few or many of them, on the second device."""
    return Placement((rng.random(len(of)) < rng.choice([0.2, 0.5])).astype(int), NAMES)


def check_random_models(hetero, seeds):
    for seed in seeds:
        rng = generator(seed, "testing", "submodels")
        model = random_model(rng)
        of = op_graph(model)
        for placement in (random_placement(of, rng) for _ in range(3)):
            if not placement.is_uniform:
                compare(hetero, model, of, placement)


@pytest.mark.parametrize("seed", range(3))
def test_random_models(hetero, seed):
    check_random_models(hetero, [seed])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 130, 6))
def test_many_random_models(hetero, first):
    check_random_models(hetero, range(first, first + 6))


def source_of(name, folder):
    """Return the file of a model: a recipe of the zoo in its small size, or one of ONNX's light models."""
    recipes = {"demo": demo, "cells": cells, "detector_head": detector_head}
    if name not in recipes:
        return LIGHT / f"{name}.onnx"
    path = folder / "source.xml"
    ov.save_model(recipes[name].build(recipes[name].SMALL), path, compress_to_fp16=False)
    return path


def check_stretches(hetero, name, folder, count):
    """Check placements of a few stretches of the order, and of scattered groups, on the second device."""
    prepare(source_of(name, folder), folder / "model.xml")
    model = ov.Core().read_model(folder / "model.xml")
    of = op_graph(model)
    legal, rng = legal_groups(of), generator(0, "testing", "stretches", name)
    order = np.argsort([of.rank[members].min() for members in legal.members])
    for i in range(count):
        choice = (rng.random(legal.n_groups) < rng.uniform(0.02, 0.3) * (i % 4 == 3)).astype(np.int64)
        for first, last in np.sort(rng.choice(legal.n_groups, (rng.integers(1, 5), 2), replace=False)):
            choice[order[first:last]] = 1
        compare(hetero, model, of, legal.lift(choice, NAMES))


@pytest.mark.parametrize("name", ["demo", "cells"])
def test_models(hetero, name, tmp_path):
    check_stretches(hetero, name, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "cells", "detector_head", "light_shufflenet", "light_inception_v1"])
def test_models_in_many_placements(hetero, name, tmp_path):
    check_stretches(hetero, name, tmp_path, 12)


def test_submodels_that_need_each_other_though_no_path_comes_back():
    """0 -> 1 and 2 -> 3 on different devices each way, joined by a common reader: one reader is cut off."""
    of = graph(("Relu",) * 6, [(0, 1), (2, 3), (0, 4), (3, 4), (2, 5), (1, 5)])
    labels = submodel_labels(of, np.array([0, 1, 1, 0, 0, 1]))
    assert regions(labels) == {frozenset({0}), frozenset({1, 2, 5}), frozenset({3}), frozenset({4})}
