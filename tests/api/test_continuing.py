"""A call with a model and inputs from memory continues its run, also where both were made anew."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pytest
import torch
from openvino import opset13

import ovplace
from ovplace.api.given_inputs import save_inputs
from ovplace.errors import ConfigError, InUseError
from ovplace.ir.saving import save_in_memory_model
from ovplace.store.run_folder import RunFolder
from ovplace.testing.slow import slow_except

SIMULATED = {
    "machine": "i9-12900k+flex170",
    "budget": 2,
    "settings": ("measure.min_time_ms=0", "comparison.min_time_ms=0", "comparison.rounds=2"),
}


def converted(seed: int = 0) -> ov.Model:
    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Softmax(1))
    return ov.convert_model(network, example_input=torch.zeros(1, 3, 8, 8), input=[1, 3, 8, 8])


def unnamed(scale: float = 2.0) -> ov.Model:
    """Return a model whose operations OpenVINO names by a counter, the inputs too."""
    x, y = (opset13.parameter([1, length], np.float32) for length in (4, 2))
    scaled = opset13.multiply(opset13.concat([x, y], 1), opset13.constant(scale, np.float32))
    return ov.Model([opset13.result(scaled)], [x, y])


@pytest.mark.parametrize("make", slow_except([unnamed], [converted, unnamed]))
def test_a_model_that_is_made_anew_continues_its_run(tmp_path, make):
    first = ovplace.optimize(make(), tmp_path / "run", **SIMULATED)
    given = (tmp_path / "run" / "given.xml").read_bytes()
    assert ovplace.optimize(make(), tmp_path / "run", **SIMULATED).to_json() == first.to_json()
    assert (tmp_path / "run" / "given.xml").read_bytes() == given
    with pytest.raises(ConfigError, match="began with another model"):
        ovplace.optimize(make(7), tmp_path / "run", **SIMULATED)
    assert not list((tmp_path / "run").glob("new-*"))


def test_inputs_in_a_list_are_those_of_the_model_that_the_run_began_with(tmp_path):
    arrays = [np.ones((1, 4), np.float32), np.zeros((1, 2), np.float32)]
    first = ovplace.optimize(unnamed(), tmp_path / "run", input=arrays, **SIMULATED)
    assert ovplace.optimize(unnamed(), tmp_path / "run", input=arrays, **SIMULATED).best == first.best


def test_inputs_and_shapes_may_be_given_in_any_order(tmp_path):
    x, y = (opset13.parameter(ov.PartialShape([1, -1]), np.float32, name=name) for name in ("file", "past/0"))
    model = ov.Model([opset13.result(opset13.relu(opset13.concat([x, y], 1)))], [x, y])
    arrays = {"file": np.ones((1, 4), np.float32), "past/0": np.zeros((1, 2), np.float32)}
    first = ovplace.optimize(model, tmp_path / "run", input=arrays, **SIMULATED)
    other = dict(reversed(arrays.items()))
    assert ovplace.optimize(model, tmp_path / "run", input=other, **SIMULATED).to_json() == first.to_json()
    with pytest.raises(ConfigError, match="began with other inputs"):
        ovplace.optimize(model, tmp_path / "run", input=other | {"file": np.zeros((1, 4), np.float32)}, **SIMULATED)


@pytest.mark.parametrize("given", ["model", "inputs"])
def test_what_another_process_searches_with_is_not_replaced(tmp_path, given):
    run, arrays = RunFolder(tmp_path), {"x": np.ones((1, 4), np.float32)}
    save_in_memory_model(unnamed(), tmp_path, begun=False)
    save_inputs(arrays, tmp_path, begun=False)
    kept = [path.read_bytes() for path in (run.given_model, run.given_inputs)]
    with run.locked(), pytest.raises(InUseError, match="is being searched by"):
        if given == "model":
            save_in_memory_model(converted(), tmp_path, begun=False)
        else:
            save_inputs({"x": np.zeros((1, 4), np.float32)}, tmp_path, begun=False)
    assert [path.read_bytes() for path in (run.given_model, run.given_inputs)] == kept
