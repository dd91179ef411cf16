"""The transformer, recurrent and implicit-function recipes: structure, names, weights, state, numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import ModuleType

import numpy as np
import openvino as ov
import pytest

from ovplace.zoo import bert_base, decoder, demo, hyperbolic, lstm, siren
from tests.zoo.operations import constants

RECIPES = (bert_base, lstm, decoder, siren, hyperbolic, demo)
recipes = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__.rsplit(".", 1)[-1])


def types_of(model: ov.Model) -> Counter[str]:
    return Counter(node.get_type_name() for node in model.get_ops())


def inputs_of(model: ov.Model, seed: int = 1) -> dict[str, np.ndarray]:
    """Returns N(0, 1) values; for integers 0 and 1, which fit ids, types, positions and masks alike."""
    rng = np.random.default_rng(seed)
    return {
        port.any_name: rng.standard_normal(port.shape, dtype=np.float32)
        if port.element_type == ov.Type.f32
        else rng.integers(0, 2, port.shape)
        for port in model.inputs
    }


def request_for(model: ov.Model) -> ov.InferRequest:
    return ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()


def run(model: ov.Model, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    request = request_for(model)
    request.infer({**inputs_of(model), **inputs})
    return {port.any_name: request.get_tensor(port).data.copy() for port in model.outputs}


@recipes
def test_outputs_are_finite_and_follow_the_input(recipe: ModuleType):
    model = recipe.build(recipe.SMALL)
    first, second = run(model), run(model, **inputs_of(model, seed=2))
    for name, values in first.items():
        assert np.isfinite(values).all(), name
        assert 0.005 < values.std() < 10, name
        assert np.abs(values - second[name]).max() > 0.05 * values.std(), name


@recipes
def test_small_has_the_operation_types_of_the_default(recipe: ModuleType):
    default = recipe.Config()
    if recipe is bert_base:  # the 109 million weights are not needed to see the structure
        default = replace(default, hidden=96, feed_forward=384, vocabulary=1000)
    assert types_of(recipe.build(recipe.SMALL)).keys() == types_of(recipe.build(default)).keys()


def test_bert_has_twelve_layers_as_published():
    default = bert_base.Config()
    assert (default.layers, default.hidden, default.heads, default.feed_forward) == (12, 768, 12, 3072)
    types = types_of(bert_base.build(bert_base.SMALL))
    assert types["MatMul"] == 12 * 8 + 1
    assert types["Softmax"] == types["Gelu"] == 12
    assert types["MVN"] == 12 * 2 + 1
    assert types["Gather"] == 4


def test_bert_ignores_masked_tokens():
    model = bert_base.build(bert_base.SMALL)
    ids = np.arange(16)[None]
    mask = (ids < 10).astype(np.int64)
    rows = (ids, ids + 5 * (ids >= 10))
    one, other = (run(model, input_ids=row, attention_mask=mask)["last_hidden_state"] for row in rows)
    np.testing.assert_allclose(one[:, :10], other[:, :10], atol=1e-5)
    assert np.abs(one[:, 10:] - other[:, 10:]).max() > 0.1


def test_lstm_has_a_layer_of_either_form():
    types = types_of(lstm.build(lstm.SMALL))
    assert (types["LSTMSequence"], types["TensorIterator"]) == (1, 1)


@pytest.mark.parametrize("layers", [1, 3])
def test_decoder_has_two_states_a_layer(layers: int):
    model = decoder.build(replace(decoder.SMALL, layers=layers))
    types = types_of(model)
    assert types["ReadValue"] == types["Assign"] == len(model.get_sinks()) == 2 * layers
    assert types["MatMul"] == 9 * layers + 1


def test_decoder_keeps_its_state_until_it_is_reset():
    model = decoder.build(decoder.SMALL)
    request = request_for(model)
    ones = {"input_ids": [[3]], "attention_mask": np.ones((1, 9)), "position_ids": [[5]]}
    step = {name: np.array(values, np.int64) for name, values in ones.items()}

    def logits() -> np.ndarray:
        request.infer(step)
        return request.get_output_tensor().data.copy()

    first, second = logits(), logits()
    assert np.abs(first - second).max() > 1e-3
    request.reset_state()
    np.testing.assert_array_equal(logits(), first)


def test_decoder_forgets_what_leaves_the_cache():
    """Two histories that differ only in a token older than the cache give the same logits."""
    config = replace(decoder.SMALL, layers=1)  # deeper layers hold what they made of older tokens
    model = decoder.build(config)

    def last_logits(oldest: int) -> np.ndarray:
        request = request_for(model)
        for position, token in enumerate([oldest, *range(config.past + 1)]):
            mask = np.ones((1, config.past + 1), np.int64)
            ids, positions = np.array([[token]]), np.array([[position]])
            request.infer({"input_ids": ids, "attention_mask": mask, "position_ids": positions})
        return request.get_output_tensor().data.copy()

    np.testing.assert_array_equal(last_logits(50), last_logits(60))


@pytest.mark.parametrize("layers", [2, 5])
def test_siren_has_a_sine_a_layer_with_the_published_weights(layers: int):
    model = siren.build(replace(siren.Config(), layers=layers, size=16))
    assert types_of(model)["Sin"] == layers
    weights = constants(model)
    assert 0.45 < np.abs(weights["layer0/linear/weight"]).max() <= 1 / 2
    limit = np.sqrt(6 / 64) / 30
    assert 0.95 * limit < np.abs(weights["layer1/linear/weight"]).max() <= limit


def test_hyperbolic_stays_clear_of_the_edges_of_its_functions():
    model = hyperbolic.build(hyperbolic.SMALL)
    nodes = {node.friendly_name: node for node in model.get_ops()}
    probes = ("distance/argument", "kernel/add", "ball/norm/add")
    for name in probes:
        nodes[name].output(0).set_names({name})
    model.add_outputs(list(probes))
    values = run(model, image=10 * inputs_of(model)["image"])
    assert values["distance/argument"].min() > 1.1
    assert values["kernel/add"].min() > 1
    assert values["ball/norm/add"].min() >= 1e-6
    np.testing.assert_allclose(values["probabilities"].sum(axis=1), 1, rtol=1e-4)


def test_demo_is_under_a_megabyte(tmp_path):
    ov.save_model(demo.build(demo.Config()), tmp_path / "demo.xml", compress_to_fp16=False)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 1_000_000


def test_demo_has_three_unlike_branches():
    model = demo.build(demo.Config())
    types = types_of(model)
    assert 80 <= len(model.get_ops()) <= 150
    assert {"Sin", "Cos", "Asinh", "Sinh", "Atan", "Convolution", "MatMul", "Softmax"} <= types.keys()
