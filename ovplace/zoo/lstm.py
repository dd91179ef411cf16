"""A stacked LSTM classifier: one layer as LSTMSequence, one as a TensorIterator around an LSTMCell.

Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997). Converters write a recurrent layer in either
form; the second hides its operations in a sub-graph, which a placement must treat as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder

SUMMARY = "2-layer LSTM, LSTMSequence and TensorIterator"

_GATES = 4


@dataclass(frozen=True)
class Config:
    """Sizes of a speech-command classifier.

    Attributes:
        steps: Length of the sequence.
        features: Channels of a step.
        hidden: Channels of both layers' states.
        classes: Outputs of the classifier.
        seed: Seed of the weights.
    """

    steps: int = 64
    features: int = 80
    hidden: int = 256
    classes: int = 12
    seed: int = 0


SMALL = Config(steps=8, features=12, hidden=16)


def build(config: Config) -> ov.Model:
    """Build features `[1, steps, features]` -> logits `[1, classes]`."""
    net = Builder(np.random.default_rng(config.seed))
    features = nn.parameter("features", (1, config.steps, config.features))
    x = _sequence_layer(net.within("layer0"), features, config)
    last = _iterator_layer(net.within("layer1"), x, config)
    inner = net.relu("classifier/relu", nn.linear(net, "classifier/inner", last, config.hidden))
    logits = nn.linear(net, "classifier/outer", inner, config.classes)
    return ov.Model(nn.results({"logits": logits}), [features], "lstm")


def _sequence_layer(net: Builder, x: ov.Node, config: Config) -> ov.Node:
    """`[1, steps, channels]` -> all states `[1, steps, hidden]`."""
    size, directions = config.hidden, 1
    hidden, cell = _initial_states(net, (1, directions, size))
    weights = _gate_weights(net, (directions,), x.shape[-1], size)
    lengths = net.ints("lengths", (config.steps,))
    name = net.path("sequence")
    sequence = opset.lstm_sequence(x, hidden, cell, lengths, *weights, size, "forward", name=name)
    return net.reshape("drop_direction", sequence.output(0), (1, config.steps, size))


def _iterator_layer(net: Builder, x: ov.Node, config: Config) -> ov.Node:
    """`[1, steps, channels]` -> the last state `[1, hidden]`."""
    hidden, cell = _initial_states(net, (1, config.hidden))
    step, past_hidden, past_cell = parameters = [
        opset.parameter(shape, np.float32, name=net.path(f"body/{name}"))
        for name, shape in (("step", [1, 1, x.shape[-1]]), ("hidden", hidden.shape), ("cell", cell.shape))
    ]
    states = _cell(net.within("body"), step, past_hidden, past_cell)
    iterator = opset.tensor_iterator()
    iterator.set_friendly_name(net.path("iterator"))
    iterator.set_body(ov.Model(states, parameters, net.path("body")))
    iterator.set_sliced_input(step, x.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(past_hidden, hidden.output(0), states[0].output(0))
    iterator.set_merged_input(past_cell, cell.output(0), states[1].output(0))
    return net.reshape("last", iterator.get_iter_value(states[0].output(0), -1), (1, config.hidden))


def _cell(net: Builder, step: ov.Node, hidden: ov.Node, cell: ov.Node) -> list[ov.Node]:
    """The body of the iterator: a step `[1, 1, channels]` and the states before -> Results of those after."""
    size = hidden.shape[-1]
    x = net.reshape("drop_time", step, (1, step.shape[-1]))
    weights = _gate_weights(net, (), step.shape[-1], size)
    states = opset.lstm_cell(x, hidden, cell, *weights, size, name=net.path("lstm"))
    names = ("next_hidden", "next_cell")
    return [opset.result(states.output(port), name=net.path(name)) for port, name in enumerate(names)]


def _initial_states(net: Builder, shape: tuple[int, ...]) -> tuple[ov.Node, ov.Node]:
    """Hidden and cell state before the first step, learned values rather than zeros."""
    return net.normal("initial_hidden", shape, 0.1), net.normal("initial_cell", shape, 0.1)


def _gate_weights(
    net: Builder, leading: tuple[int, ...], channels: int, hidden: int
) -> tuple[ov.Node, ov.Node, ov.Node]:
    """Weights of input, recurrence and bias, `[*leading, 4 * hidden, ...]`, gates ordered f, i, c, o."""
    rows = _GATES * hidden
    return (
        net.normal("input_weight", (*leading, rows, channels), channels**-0.5),
        net.normal("recurrent_weight", (*leading, rows, hidden), hidden**-0.5),
        net.normal("bias", (*leading, rows), 0.1),
    )
