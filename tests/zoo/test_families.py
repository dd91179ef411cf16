"""The generated families: the index decides everything, each model is another, and all of them run."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import openvino as ov
import pytest

from ovplace import zoo
from ovplace.errors import UsageError
from ovplace.ir.content_hash import content_hash
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.simulation.machine_file import load_machine
from ovplace.testing.slow import slow_except
from ovplace.zoo import families

SOME = (0, 3, 7, 12, 18, 25)
LARGEST_BYTES = 20e6

every_family = pytest.mark.parametrize("family", slow_except(["attention"], families.family_names()))


@cache
def models(family: str) -> tuple[ov.Model, ...]:
    return tuple(families.build_member(family, index) for index in range(families.SIZE))


def structure(model: ov.Model) -> tuple[object, ...]:
    """Returns what there is beside the weights."""
    return tuple(
        (op.get_type_name(), tuple(str(port.partial_shape) for port in op.outputs())) for op in model.get_ordered_ops()
    )


def weight_bytes(model: ov.Model) -> int:
    return sum(op.data.nbytes for op in model.get_ops() if op.get_type_name() == "Constant")


def inputs_of(model: ov.Model, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, 100, port.shape)
        if port.element_type == ov.Type.i64
        else rng.standard_normal(port.shape, dtype=np.float32)
        for port in model.inputs
    ]


def outputs_of(model: ov.Model, *seeds: int) -> list[np.ndarray]:
    request = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    return [request.infer(inputs_of(model, seed))[0].copy() for seed in seeds]


def test_families_are_recipes_too():
    assert set(families.family_names()) <= set(zoo.names())


@every_family
def test_all_structures_differ(family):
    assert len({structure(model) for model in models(family)}) == families.SIZE


@every_family
def test_models_are_light_and_static(family):
    for model in models(family):
        assert weight_bytes(model) < LARGEST_BYTES, model.friendly_name
        assert not model.is_dynamic(), model.friendly_name
    assert len({model.friendly_name for model in models(family)}) == families.SIZE


@every_family
def test_names_are_given_and_unique(family):
    for model in models(family):
        names = [op.friendly_name for op in model.get_ops()]
        assert len(set(names)) == len(names), model.friendly_name
        assert not [op for op in model.get_ops() if op.friendly_name == op.get_name()], model.friendly_name


@every_family
def test_sizes_vary_by_more_than_a_decade(family):
    weights = [weight_bytes(model) for model in models(family)]
    operations = [len(model.get_ops()) for model in models(family)]
    assert max(weights) > 10 * min(weights)
    assert max(operations) > 5 * min(operations)


def test_the_index_decides_everything_in_any_process():
    here = [
        content_hash(families.build_member(family, index)) for family in families.family_names() for index in (2, 40)
    ]
    code = """
from ovplace.ir.content_hash import content_hash
from ovplace.zoo import families
for index in (40, 2):
    for family in families.family_names():
        print(family, index, content_hash(families.build_member(family, index)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    there = {tuple(line.split()[:2]): line.split()[2] for line in done.stdout.splitlines()}
    assert here == [there[family, str(index)] for family in families.family_names() for index in (2, 40)]
    assert len(set(here)) == len(here)


@every_family
@pytest.mark.parametrize("index", SOME)
def test_every_operation_can_be_placed(family, index, tmp_path):
    ov.save_model(families.build_member(family, index), tmp_path / "source.xml", compress_to_fp16=False)
    prepare(tmp_path / "source.xml", tmp_path / "model.xml")
    model, graph = ov.Core().read_model(tmp_path / "model.xml"), read_graph(tmp_path / "model.xml")
    assert ov.Core().query_model(model, "CPU").keys() >= {op.friendly_name for op in model.get_ops()}
    groups = legal_groups(graph)
    assert groups.n_groups > 5
    for name in ("i9-12900k+flex170", "core-ultra", "two-gpus", "null"):
        table = load_machine(name).table(graph, groups)
        assert np.isfinite(table.group_ms).any(axis=1).all()
        assert np.isfinite(table.group_ms).all(axis=0).any(), "one device runs all of it"


@every_family
@pytest.mark.parametrize("index", SOME[1:4])
def test_outputs_are_finite_and_follow_the_input(family, index):
    first, second = outputs_of(families.build_member(family, index), 1, 2)
    assert np.isfinite(first).all()
    assert 1e-3 < first.std() < 1e3
    assert np.abs(first - second).max() > 1e-3 * first.std()


@pytest.mark.parametrize(
    ("family", "index", "said"),
    [("forests", 0, "unknown family 'forests'"), ("cells", -1, "index must not be negative")],
)
def test_what_there_is_not_is_said(family, index, said):
    with pytest.raises(UsageError, match=said):
        families.build_member(family, index)
