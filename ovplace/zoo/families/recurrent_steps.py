"""One step of a recurrent layer, as one cell operation or spelled out in matrix products and activations.

A step takes its input `[1, C]` and the states before it, `[1, H]` each, and returns the states after it. The first
state is what the layer shows; only an LSTM has a second one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder, Tensor

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
"""Rows of the weights over the size of the state."""


@dataclass(frozen=True)
class Weights:
    """The weights of one layer; each has an axis of directions before those given here, or none.

    Attributes:
        inputs: factors of the input, `[gates * H, C]`.
        states: factors of the state, `[gates * H, H]`.
        bias: summand of the gates, `[gates * H]`.
    """

    inputs: ov.Node
    states: ov.Node
    bias: ov.Node


States: TypeAlias = list[Tensor]
Step: TypeAlias = Callable[[Builder, ov.Node, States, Weights], States]


def _cell(kind: str) -> Step:
    """The step as one operation of OpenVINO."""

    def step(net: Builder, x: ov.Node, states: States, w: Weights) -> States:
        name, size = net.path("cell"), int(states[0].shape[-1])
        arguments = (x, *states, w.inputs, w.states, w.bias, size)
        if kind == "rnn":
            node = opset.rnn_cell(*arguments, ["tanh"], [], [], name=name)
        else:
            node = {"lstm": opset.lstm_cell, "gru": opset.gru_cell}[kind](*arguments, name=name)
        return list(nn.named(node, name).outputs())

    return step


def _lstm(net: Builder, x: ov.Node, states: States, w: Weights) -> States:
    """Hochreiter and Schmidhuber (1997), with a gate to forget."""
    hidden, memory = states
    forget, enter, candidate, show = _parts(net, "gates", _gates(net, x, hidden, w), 4)
    kept = nn.multiply(net, "kept", memory, _sigmoid(net, "forget", forget))
    entered = nn.multiply(net, "entered", _sigmoid(net, "enter", enter), _tanh(net, "candidate", candidate))
    memory = net.add("memory", kept, entered)
    return [nn.multiply(net, "hidden", _sigmoid(net, "show", show), _tanh(net, "memory/tanh", memory)), memory]


def _gru(net: Builder, x: ov.Node, states: States, w: Weights) -> States:
    """Cho et al. (2014), reset after the product with the state."""
    hidden = states[0]
    update, reset, candidate = _parts(net, "inputs", _biased(net, _product(net, "input", x, w.inputs), w), 3)
    update_h, reset_h, candidate_h = _parts(net, "states", _product(net, "recurrence", hidden, w.states), 3)
    keep = _sigmoid(net, "update", net.add("update/add", update, update_h))
    open_ = _sigmoid(net, "reset", net.add("reset/add", reset, reset_h))
    inner = net.add("candidate/add", candidate, nn.multiply(net, "candidate/reset", open_, candidate_h))
    new = _tanh(net, "candidate", inner)
    change = opset.subtract(hidden, new, name=net.path("change"))
    return [net.add("hidden", new, nn.multiply(net, "hidden/kept", keep, change))]


def _rnn(net: Builder, x: ov.Node, states: States, w: Weights) -> States:
    """Elman (1990): one product each, and a tanh."""
    return [_tanh(net, "hidden", _gates(net, x, states[0], w))]


STEPS: dict[tuple[str, str], Step] = {
    ("spelled", "lstm"): _lstm,
    ("spelled", "gru"): _gru,
    ("spelled", "rnn"): _rnn,
    **{("cells", kind): _cell(kind) for kind in GATES},
}
"""(form, cell) -> step."""


def _gates(net: Builder, x: ov.Node, hidden: Tensor, w: Weights) -> ov.Node:
    """Pre-activations of all gates, `[1, gates * H]`."""
    both = net.add("sum", _product(net, "input", x, w.inputs), _product(net, "recurrence", hidden, w.states))
    return _biased(net, both, w)


def _biased(net: Builder, x: ov.Node, w: Weights) -> ov.Node:
    return net.add("biased", x, w.bias)


def _product(net: Builder, name: str, x: Tensor, weight: ov.Node) -> ov.Node:
    return opset.matmul(x, weight, transpose_a=False, transpose_b=True, name=net.path(name))


def _parts(net: Builder, name: str, x: ov.Node, count: int) -> States:
    """`[1, count * H]` in equal parts."""
    return list(opset.split(x, net.ints(f"{name}/axis", 1), count, name=net.path(name)).outputs())


def _sigmoid(net: Builder, name: str, x: Tensor) -> ov.Node:
    return opset.sigmoid(x, name=net.path(name))


def _tanh(net: Builder, name: str, x: Tensor) -> ov.Node:
    return opset.tanh(x, name=net.path(name))
