"""Recurrent networks: LSTM, GRU and plain cells, as whole-sequence operations, as cells step by step, or spelled out.

Sources: Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997); Cho et al., "Learning Phrase Representations using
RNN Encoder-Decoder" (2014); attention over the states: Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly
Learning to Align and Translate" (2015); convolutions before recurrent layers: Shi, Bai and Yao, "An End-to-End
Trainable Neural Network for Image-Based Sequence Recognition" (2015). Converters write a recurrent layer in any of the
three forms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.families.draws import Config, Draws
from ovplace.zoo.families.front import Front
from ovplace.zoo.families.recurrent_steps import GATES, STEPS, Weights
from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder

SUMMARY = "Family of recurrent networks, one for each index"
SMALL = Config(index=2)

_WEIGHTS = 3_500_000
"""Weights of all layers together, at most, but for the first: 14 MB."""

_BANDS = 64
"""Frequency bands of a spectrogram."""


@dataclass(frozen=True)
class _Plan:
    """The structure of a model."""

    cell: str
    form: str
    layers: int
    steps: int
    features: int
    hidden: int
    directions: int
    input: str
    vocabulary: int
    front: Front
    top: str


def build(config: Config) -> ov.Model:
    """Return the model, `steps` to `scores` `[1, classes]`.

    The input is `[1, S]` ids, `[1, S, C]` vectors or a `[1, 1, bands, frames]` spectrogram.
    """
    draws = Draws("recurrent", config)
    plan, classes = _plan(draws), draws.size(4, 1000)
    net = Builder(draws.rng)
    data, x = _input(net, plan)
    for layer in range(plan.layers):
        scope = net.within(f"layer{layer}")
        x = _sequence(scope, x, plan) if plan.form == "sequence" else _unrolled(scope, x, plan)
    return ov.Model(
        nn.results({"scores": nn.linear(net, "head", _top(net, x, plan), classes)}), [data], f"recurrent-{config.index}"
    )


def _plan(draws: Draws) -> _Plan:
    cell, form = draws.one_of("lstm", "gru", "rnn"), draws.one_of("sequence", "cells", "spelled")
    hidden = draws.size(16, 512, 16)
    directions = draws.count(1, 2) if form == "sequence" else 1
    layer = GATES[cell] * hidden**2 * directions * (1 + directions)
    return _Plan(
        cell=cell,
        form=form,
        layers=min(draws.count(1, 4), max(1, _WEIGHTS // layer)),
        steps=draws.size(8, 384) if form == "sequence" else draws.size(3, 24),
        features=draws.size(8, 256, 8),
        hidden=hidden,
        directions=directions,
        input=draws.one_of("ids", "vectors", "spectrogram"),
        vocabulary=draws.size(100, 2000, 100),
        front=Front.drawn(draws),
        top=draws.one_of("last", "mean", "self_attention", "attention_pool"),
    )


def _input(net: Builder, plan: _Plan) -> tuple[ov.Node, ov.Node]:
    """The input and the vectors of its steps, `[1, S, C]`: looked up, as they come, or convolved."""
    if plan.input == "vectors":
        dense = nn.parameter("steps", (1, plan.steps, plan.features))
        return dense, dense
    if plan.input == "ids":
        ids = nn.parameter("steps", (1, plan.steps), np.int64)
        return ids, nn.gather(net, "embedding", net.normal("table", (plan.vocabulary, plan.features), 1.0), ids, 0)
    sound = nn.parameter("steps", (1, 1, _BANDS, plan.front.factor * plan.steps))
    by_step = nn.transpose(net, "by_step", plan.front.build(net, sound), (0, 3, 1, 2))
    flat = net.reshape("flat", by_step, (1, plan.steps, -1))
    return sound, nn.linear(net, "embedding", flat, plan.features)


def _weights(net: Builder, plan: _Plan, channels: int, leading: tuple[int, ...] = ()) -> Weights:
    rows, hidden = GATES[plan.cell] * plan.hidden, plan.hidden
    return Weights(
        net.normal("input_weight", (*leading, rows, channels), channels**-0.5),
        net.normal("state_weight", (*leading, rows, hidden), hidden**-0.5),
        net.normal("bias", (*leading, rows), 0.1),
    )


def _sequence(net: Builder, x: ov.Node, plan: _Plan) -> ov.Node:
    """`[1, S, C]` to all states `[1, S, directions * hidden]`, by one operation."""
    directions, size = plan.directions, plan.hidden
    states = _states(net, plan, (1, directions, size))
    w = _weights(net, plan, x.shape[-1], (directions,))
    way = "bidirectional" if directions == 2 else "forward"
    arguments = (x, *states, net.ints("lengths", (plan.steps,)), w.inputs, w.states, w.bias, size, way)
    name = net.path("sequence")
    if plan.cell == "rnn":
        node = nn.named(opset.rnn_sequence(*arguments, ["tanh"] * directions, [], [], name=name), name)
    else:
        kinds = {"lstm": opset.lstm_sequence, "gru": opset.gru_sequence}
        node = nn.named(kinds[plan.cell](*arguments, name=name), name)
    if directions == 1:
        return net.reshape("joined", node.output(0), (1, plan.steps, size))
    beside = opset.transpose(node.output(0), net.ints("beside/order", (0, 2, 1, 3)), name=net.path("beside"))
    return net.reshape("joined", beside, (1, plan.steps, directions * size))


def _states(net: Builder, plan: _Plan, shape: tuple[int, ...]) -> list[ov.Node]:
    """Initial hidden state, and for an LSTM the initial cell state; learned values."""
    names = ("state", "cell_state") if plan.cell == "lstm" else ("state",)
    return [net.normal(f"initial_{name}", shape, 0.1) for name in names]


def _unrolled(net: Builder, x: ov.Node, plan: _Plan) -> ov.Node:
    """`[1, S, C]` to all states `[1, S, hidden]`, step by step, with one set of weights."""
    states, w = _states(net, plan, (1, plan.hidden)), _weights(net, plan, x.shape[-1])
    steps = opset.split(x, net.ints("split/axis", 1), plan.steps, name=net.path("split"))
    found: list[ov.Node] = []
    for i, step in enumerate(steps.outputs()):
        scope = net.within(f"step{i}")
        current = scope.reshape("features", step, (1, x.shape[-1]))
        states = STEPS[plan.form, plan.cell](scope, current, states, w)
        found.append(nn.unsqueeze(scope, "state", states[0], (1,)))
    return net.concat("joined", found) if len(found) > 1 else found[0]


def _top(net: Builder, x: ov.Node, plan: _Plan) -> ov.Node:
    """`[1, S, C]` of the last layer to the `[1, C]` that is classified."""
    if plan.top == "last":
        return nn.gather(net, "last", x, net.ints("last/index", plan.steps - 1), axis=1)
    if plan.top == "self_attention":
        x = nn.self_attention(net.within("attention"), x, heads=4)
    elif plan.top == "attention_pool":
        scores = nn.linear(net, "energy", x, 1)
        shares = opset.softmax(scores, axis=1, name="shares")
        return opset.reduce_sum(
            nn.multiply(net, "weighted", x, shares), net.ints("pool/axes", (1,)), keep_dims=False, name="pool"
        )
    return opset.reduce_mean(x, net.ints("pool/axes", (1,)), keep_dims=False, name="pool")
