"""The convolutional recipes: published structure, names, seeded weights and healthy activations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import openvino as ov
import pytest

from ovplace.testing.slow import slow_except
from ovplace.zoo import detector_head, inception_v3, mobilenet_v2, resnet_50, unet
from ovplace.zoo.layers.builder import scale_channels
from tests.zoo.operations import constants

RECIPES = (inception_v3, resnet_50, mobilenet_v2, unet, detector_head)
recipes = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__.rsplit(".", 1)[-1])
sizes = pytest.mark.parametrize("size", slow_except(["small"], ["default", "small"]))

CONVOLUTIONS = ("Convolution", "GroupConvolution")
PROBED = ("Relu", "Clamp", "Add", "Concat")


def config_of(recipe: ModuleType, size: str):
    return recipe.Config() if size == "default" else recipe.SMALL


def count(model: ov.Model, *types: str) -> int:
    return sum(node.get_type_name() in types for node in model.get_ops())


def save_and_read(model: ov.Model, path: Path) -> ov.Model:
    ov.save_model(model, path, compress_to_fp16=True)
    return ov.Core().read_model(path)


def run(model: ov.Model) -> dict[str, np.ndarray]:
    """Returns what the probed operations and the outputs give on an N(0, 1) input."""
    probes = [node for node in model.get_ops() if node.get_type_name() in PROBED]
    outputs = [node.output(0) for node in probes] + [node.input_value(0) for node in model.get_results()]
    names = [node.friendly_name for node in [*probes, *model.get_results()]]
    probed = ov.Model(outputs, model.get_parameters())
    hints = {"INFERENCE_PRECISION_HINT": "f32"}
    request = ov.Core().compile_model(probed, "CPU", hints).create_infer_request()
    data = np.random.default_rng(1).standard_normal(model.input().shape, dtype=np.float32)
    request.infer([data])
    return {name: request.get_output_tensor(i).data.copy() for i, name in enumerate(names)}


@sizes
@pytest.mark.parametrize(
    ("recipe", "convolutions", "depthwise", "activations"),
    [(inception_v3, 94, 0, 94), (resnet_50, 53, 0, 49), (mobilenet_v2, 52, 17, 35), (unet, 19, 0, 18)],
)
def test_operations_are_the_published_ones(recipe, convolutions, depthwise, activations, size):
    model = recipe.build(config_of(recipe, size))
    assert count(model, *CONVOLUTIONS) == convolutions
    assert count(model, "GroupConvolution") == depthwise
    assert count(model, "Relu", "Clamp") == activations


@pytest.mark.parametrize(
    ("recipe", "parameters"), [(inception_v3, 23_817_352), (resnet_50, 25_530_472), (mobilenet_v2, 3_487_816)]
)
def test_parameters_are_torchvisions_after_folding(recipe, parameters):
    assert sum(values.size for values in constants(recipe.build(recipe.Config())).values()) == parameters


def test_channels_of_a_narrow_mobilenet_v2_are_torchvisions():
    model = mobilenet_v2.build(replace(mobilenet_v2.Config(), multiplier=0.75))
    channels = {name: values.shape[0] for name, values in constants(model).items() if name.endswith("/weight")}
    # 0.75 * 16 = 12 goes up to 16; 0.75 * 24 = 18 to 24, as 16 would lose more than a tenth; the head stays as it is.
    assert channels["features/0/weight"] == 24
    narrow = [16, *[24] * 2, *[24] * 3, *[48] * 4, *[72] * 3, *[120] * 3, 240]
    assert [channels[f"features/{i}/project/weight"] for i in range(1, 18)] == narrow
    assert [channels[f"features/{i}/expand/weight"] for i in range(2, 18)] == [6 * inputs for inputs in narrow[:-1]]
    assert channels["features/18/weight"] == 1280


@pytest.mark.parametrize(("multiplier", "head"), [(0.35, 1280), (1.0, 1280), (1.4, 1792)])
def test_only_a_wider_mobilenet_v2_has_another_head(multiplier, head):
    model = mobilenet_v2.build(replace(mobilenet_v2.Config(), multiplier=multiplier))
    assert constants(model)["features/18/weight"].shape[0] == head


@pytest.mark.parametrize(
    ("channels", "multiplier", "scaled"), [(24, 0.75, 24), (40, 0.5, 24), (16, 0.25, 8), (64, 0.5, 32), (3, 1.0, 3)]
)
def test_scaled_channels_are_the_nearest_multiple_of_8_that_loses_at_most_a_tenth(channels, multiplier, scaled):
    assert scale_channels(channels, multiplier) == scaled


@sizes
def test_resnet_50_in_fp16_has_396_operations_and_411_edges(size, tmp_path):
    model = save_and_read(resnet_50.build(config_of(resnet_50, size)), tmp_path / "model.xml")
    assert len(model.get_ops()) == 396
    assert sum(node.get_input_size() for node in model.get_ops()) == 411


@recipes
def test_fp16_compression_skips_no_constant(recipe, tmp_path):
    model = recipe.build(recipe.SMALL)
    compressed = constants(save_and_read(model, tmp_path / "model.xml"))
    assert len(compressed) == len(constants(model))
    assert {values.dtype for values in compressed.values()} == {np.dtype(np.float16)}


@recipes
def test_small_has_the_structure_of_the_default(recipe):
    small, default = (
        [(node.friendly_name, node.get_type_name()) for node in recipe.build(config).get_ordered_ops()]
        for config in (recipe.SMALL, recipe.Config())
    )
    assert small == default


@recipes
def test_model_input_and_outputs_are_named(recipe):
    model = recipe.build(recipe.SMALL)
    assert model.friendly_name == recipe.__name__.rsplit(".", 1)[-1].replace("_", "-")
    assert model.input().any_name == "data"
    assert all(output.any_name in ("logits", "mask", "boxes", "scores") for output in model.outputs)


@recipes
def test_activations_neither_die_nor_explode(recipe):
    for name, values in run(recipe.build(recipe.SMALL)).items():
        assert np.isfinite(values).all(), name
        assert 0.05 < values.std() < 50, name


def test_unet_joins_odd_sizes():
    model = unet.build(replace(unet.SMALL, height=50, width=37))
    assert list(model.output().shape) == [1, 4, 50, 37]


def test_box_centres_are_near_the_image_and_scores_are_probabilities():
    outputs = run(detector_head.build(detector_head.SMALL))
    assert (outputs["boxes"][..., :2] > -0.2).all()
    assert (outputs["boxes"][..., :2] < 1.2).all()
    np.testing.assert_allclose(outputs["scores"].sum(axis=-1), 1, rtol=1e-4)
