"""A decoder-only language model in its decoding step, with the key and value caches as OpenVINO state.

The block is that of Touvron et al., "LLaMA: Open and Efficient Foundation Language Models" (2023): RMSNorm
(Zhang and Sennrich, 2019), rotary positions (Su et al., 2021) and SwiGLU (Shazeer, 2020). Shapes are
static: a cache always holds the `past` newest entries, and one call appends a token and drops the oldest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder

SUMMARY = "LLaMA-style decoder with a stateful KV cache"

_EPS = 1e-5
_ROTARY_BASE = 10000.0


@dataclass(frozen=True)
class Config:
    """A small language model.

    Attributes:
        layers: Decoder blocks.
        hidden: Channels of a token.
        heads: Attention heads; `hidden / heads` is even.
        feed_forward: Channels inside the SwiGLU block.
        vocabulary: Rows of the embedding table and of the language model head.
        past: Entries of a cache.
        seed: Seed of the weights.
    """

    layers: int = 4
    hidden: int = 512
    heads: int = 8
    feed_forward: int = 1376
    vocabulary: int = 8192
    past: int = 128
    seed: int = 0


SMALL = Config(layers=2, hidden=32, heads=4, feed_forward=48, vocabulary=100, past=8)


@dataclass(frozen=True)
class _Step:
    """Inputs that all blocks of one step share: the additive mask and the rotation of the token's position."""

    mask: ov.Node
    cos: ov.Node
    sin: ov.Node


def build(config: Config) -> ov.Model:
    """Build one decoding step.

    Inputs, all i64: input_ids `[1, 1]`, attention_mask `[1, past + 1]` with the new token last, and
    position_ids `[1, 1]`. Output: logits `[1, 1, vocabulary]`. Each layer has two states,
    `layer0/attention/key/cache` and `layer0/attention/value/cache` in the first.
    """
    net = Builder(np.random.default_rng(config.seed))
    ids, mask, positions = inputs = [
        nn.parameter(name, (1, width), np.int64)
        for name, width in (("input_ids", 1), ("attention_mask", config.past + 1), ("position_ids", 1))
    ]
    table = net.normal("embedding/table", (config.vocabulary, config.hidden), 1.0)
    x = nn.gather(net, "embedding", table, ids, axis=0)
    cos, sin = _rotation(net.within("rotary"), positions, config.hidden // config.heads)
    step = _Step(nn.additive_mask(net.within("mask"), mask), cos, sin)
    sinks: list[ov.Node] = []
    for index in range(config.layers):
        x = _block(net.within(f"layer{index}"), x, step, config, sinks)
    logits = nn.project(net, "head", _rms_norm(net, "norm", x), config.vocabulary)
    return ov.Model(results=nn.results({"logits": logits}), sinks=sinks, parameters=inputs, name="decoder")


def _block(net: Builder, x: ov.Node, step: _Step, config: Config, sinks: list[ov.Node]) -> ov.Node:
    """One block; appends the Assigns of its caches to `sinks`."""
    attended = _attention(net.within("attention"), _rms_norm(net, "attention_norm", x), step, config, sinks)
    x = net.add("attention_residual", x, attended)
    inner = _swiglu(net.within("feed_forward"), _rms_norm(net, "feed_forward_norm", x), config.feed_forward)
    return net.add("feed_forward_residual", x, inner)


def _attention(net: Builder, x: ov.Node, step: _Step, config: Config, sinks: list[ov.Node]) -> ov.Node:
    query, key, value = (
        nn.split_heads(net, role, nn.project(net, role, x, config.hidden), config.heads)
        for role in ("query", "key", "value")
    )
    query = _rotate(net.within("query/rotary"), query, step)
    key = _cached(net.within("key"), _rotate(net.within("key/rotary"), key, step), config.past, sinks)
    value = _cached(net.within("value"), value, config.past, sinks)
    context = nn.merge_heads(net, "heads", nn.scaled_dot_product_attention(net, query, key, value, step.mask))
    return nn.project(net, "output", context, config.hidden)


def _cached(net: Builder, new: ov.Node, past: int, sinks: list[ov.Node]) -> ov.Node:
    """Append `[1, heads, 1, head_dim]` to a cache; return both, `[1, heads, past + 1, head_dim]`."""
    _, heads, _, head_dim = new.shape
    shape, variable = [1, heads, past, head_dim], net.path("cache")
    empty = net.floats("empty_cache", np.zeros(shape))
    cache = opset.read_value(empty, variable, ov.Type.f32, ov.PartialShape(shape), name=net.path("read"))
    joined = opset.concat([cache.output(0), new.output(0)], axis=2, name=net.path("append"))
    start, stop, step, axis = (
        net.ints(f"newest/{name}", (value,))
        for name, value in (("start", 1), ("stop", past + 1), ("step", 1), ("axis", 2))
    )
    newest = opset.slice(joined, start, stop, step, axis, name=net.path("newest"))
    sinks.append(nn.named(opset.assign(newest, variable), net.path("assign")))
    return joined


def _rotation(net: Builder, positions: ov.Node, head_dim: int) -> tuple[ov.Node, ov.Node]:
    """Cosine and sine of the rotary angles of the position `[1, 1]`, each `[1, 1, 1, head_dim]`."""
    inverse = _ROTARY_BASE ** (-np.arange(0, head_dim, 2) / head_dim)
    frequencies = net.floats("frequencies", np.tile(inverse, 2)[None, None, None])
    steps = nn.unsqueeze(net, "unsqueeze", positions, (1, 2))
    steps = opset.convert(steps, "f32", name=net.path("convert"))
    angles = nn.multiply(net, "angles", steps, frequencies)
    return opset.cos(angles, name=net.path("cos")), opset.sin(angles, name=net.path("sin"))


def _rotate(net: Builder, x: ov.Node, step: _Step) -> ov.Node:
    """Return x * cos + (-second half, first half) * sin over the last axis."""
    half = net.ints("halves", (x.shape[-1] // 2,) * 2)
    halves = opset.variadic_split(x, net.ints("axis", -1), half, name=net.path("split"))
    first, second = halves.outputs()
    negative = opset.negative(second, name=net.path("negative"))
    turned = opset.concat([negative.output(0), first], axis=-1, name=net.path("turned"))
    cosine = nn.multiply(net, "times_cos", x, step.cos)
    return net.add("add", cosine, nn.multiply(net, "times_sin", turned, step.sin))


def _rms_norm(net: Builder, name: str, x: ov.Node) -> ov.Node:
    """Return x / sqrt(mean(x^2) + eps) * scale over the last axis."""
    net = net.within(name)
    square = opset.power(x, net.floats("two", 2), name=net.path("square"))
    mean = opset.reduce_mean(square, net.ints("axis", (-1,)), keep_dims=True, name=net.path("mean"))
    root = opset.sqrt(net.add("add", mean, net.floats("eps", _EPS)), name=net.path("sqrt"))
    normal = opset.divide(x, root, name=net.path("divide"))
    return nn.multiply(net, "multiply", normal, nn.scales(net, "scale", (1, 1, x.shape[-1])))


def _swiglu(net: Builder, x: ov.Node, units: int) -> ov.Node:
    gate = nn.project(net, "gate", x, units)
    gate = opset.swish(gate, net.floats("beta", 1), name=net.path("swish"))
    inner = nn.multiply(net, "multiply", gate, nn.project(net, "up", x, units))
    return nn.project(net, "down", inner, x.shape[-1])
