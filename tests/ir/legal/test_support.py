"""Support of operations, from plugins that choke on some of them."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.ir.legal import support
from ovplace.ir.legal.support import supported_names

KINDS = (ops.sin, ops.cos, ops.relu, ops.tanh)


def stack(n):
    """Return a model of `n` weighted operations in a row, of changing kinds."""
    x = parameter = ops.parameter([1, 8], np.float32, name="x")
    for i in range(n):
        weights = ops.constant(np.full((8, 8), 0.1, dtype=np.float32), name=f"weights{i}")
        x = ops.matmul(x, weights, False, False, name=f"matmul{i}")
        x = KINDS[i % len(KINDS)](x, name=f"op{i}")
    return ov.Model([ops.result(x, name="y")], [parameter], "stack")


class Plugin:
    """Supports all but `lacks`, and cannot answer for a model with one of the operations `chokes_on`."""

    def __init__(self, lacks=(), chokes_on=()):
        self.lacks, self.chokes_on, self.asked = set(lacks), set(chokes_on), 0

    def __call__(self, model):
        self.asked += 1
        names = {op.get_friendly_name() for op in model.get_ops()}
        if names & self.chokes_on:
            raise RuntimeError("no such kernel")
        return names - self.lacks


def names(model):
    return {op.get_friendly_name() for op in model.get_ops()}


def test_a_plugin_that_answers_is_asked_once():
    model, plugin = stack(40), Plugin(lacks=["op3"])
    assert supported_names(model, plugin) == names(model) - {"op3"}
    assert plugin.asked == 1


@pytest.mark.parametrize("chokes_on", [["op7"], ["op0", "op39"], ["op3", "op4", "matmul20"]])
def test_what_a_plugin_chokes_on_is_found_by_halves(chokes_on):
    model, plugin = stack(40), Plugin(["op11"], chokes_on)
    lost = names(model) - supported_names(model, plugin)
    assert lost >= {"op11", *chokes_on}
    assert len(lost) <= 1 + 3 * len(chokes_on)  # with the weights that have to stay with them
    assert plugin.asked < 2 + 2 * 7 * len(chokes_on)


def test_a_plugin_that_never_answers_is_left_alone(monkeypatch):
    monkeypatch.setattr(support, "MOST_QUERIES", 20)
    model = stack(40)
    plugin = Plugin(chokes_on=names(model))
    assert supported_names(model, plugin) == set()
    assert plugin.asked == 21


def test_the_model_stays_as_it_is():
    model = stack(5)
    before = [op.get_friendly_name() for op in model.get_ordered_ops()]
    supported_names(model, Plugin(chokes_on=["op2"]))
    assert [op.get_friendly_name() for op in model.get_ordered_ops()] == before
