"""Stacks of attention blocks: encoders, decoders and pairs of both, over token ids, dense vectors or an image.

Sources: Vaswani et al., "Attention is all you need" (2017); where the norms stand: Xiong et al., "On Layer
Normalization in the Transformer Architecture" (2020); the gated feed-forward block: Shazeer, "GLU Variants Improve
Transformer" (2020); convolutions before the blocks: Xiao et al., "Early Convolutions Help Transformers See Better"
(2021); fewer tokens from block to block: Dai et al., "Funnel-Transformer" (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.families.draws import Config, Draws
from ovplace.zoo.families.front import Front
from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder

SUMMARY = "Family of attention stacks, one for each index"
SMALL = Config(index=11)

_WEIGHTS = 3_500_000
"""Weights of all blocks together, at most, but for the first block: 14 MB."""

_PER_BLOCK = 16
"""Weights of a block over the square of its channels, at most."""

_MASKED = -1e4


@dataclass(frozen=True)
class _Plan:
    """The structure of a model.

    `tokens` are those of the first block, a square number behind a front end; `memory` those of the encoder beside a
    decoder, 0 for none. Before each of the last `funnels` blocks there are half as many tokens.
    """

    blocks: int
    hidden: int
    heads: int
    inner: int
    tokens: int
    memory: int
    input: str
    vocabulary: int
    front: Front
    funnels: int
    causal: bool
    norm: str
    activation: str


def build(config: Config) -> ov.Model:
    """Return the model, `tokens` to `scores`, of each token or of all of them.

    The input is `[1, T]` ids, `[1, T, C]` vectors or a `[1, 3, H, H]` image. With an encoder beside the decoder there
    is a second input, `memory` `[1, M, C]`.
    """
    draws = Draws("attention", config)
    plan, classes, pooled = _plan(draws), draws.size(4, 1000), draws.chance(0.5)
    net = Builder(draws.rng)
    tokens, x = _input(net, plan)
    inputs, memory = [tokens], None
    if plan.memory:
        inputs.append(nn.parameter("memory", (1, plan.memory, plan.hidden)))
        memory = _block(net.within("encoder"), inputs[-1], plan, None, None)
    mask = _causal_mask(net, x) if plan.causal else None
    for i in range(plan.blocks):
        scope = net.within(f"block{i}")
        if i >= plan.blocks - plan.funnels and x.shape[1] > 1:
            x = _halved(scope, x)
            mask = _causal_mask(scope, x) if plan.causal else None
        x = _block(scope, x, plan, mask, memory)
    if pooled:
        x = opset.reduce_mean(x, net.ints("pool/axes", (1,)), keep_dims=False, name="pool")
    return ov.Model(nn.results({"scores": nn.linear(net, "head", x, classes)}), inputs, f"attention-{config.index}")


def _plan(draws: Draws) -> _Plan:
    heads, kind = draws.count(1, 8), draws.one_of("ids", "vectors", "image")
    hidden = min(448 // (8 * heads) * 8 * heads, heads * draws.size(16, 128, 8))
    causal, tokens = draws.chance(0.4) and kind != "image", draws.size(8, 1024)
    return _Plan(
        blocks=min(draws.count(1, 8), max(1, _WEIGHTS // (_PER_BLOCK * hidden**2))),
        hidden=hidden,
        heads=heads,
        inner=hidden * draws.count(1, 4),
        tokens=round(tokens**0.5) ** 2 if kind == "image" else tokens,
        memory=draws.size(4, 128) if causal and draws.chance(0.5) else 0,
        input=kind,
        vocabulary=draws.size(100, 2000, 100),
        front=Front.drawn(draws),
        funnels=draws.count(0, 4),
        causal=causal,
        norm=draws.one_of("before", "after", "none"),
        activation=draws.one_of("gelu", "gelu_tanh", "relu", "gated"),
    )


def _input(net: Builder, plan: _Plan) -> tuple[ov.Node, ov.Node]:
    """The input and the vectors of its tokens, `[1, T, C]`: projected, or looked up, and then given a position."""
    if plan.input == "vectors":
        dense = nn.parameter("tokens", (1, plan.tokens, plan.hidden))
        return dense, nn.linear(net, "embedding", dense, plan.hidden)
    if plan.input == "image":
        side = plan.front.factor * round(plan.tokens**0.5)
        data = nn.parameter("tokens", (1, 3, side, side))
        flat = net.reshape("patches", plan.front.build(net, data), (0, 0, plan.tokens))
        x = nn.linear(net, "embedding", nn.transpose(net, "by_token", flat, (0, 2, 1)), plan.hidden)
    else:
        data = nn.parameter("tokens", (1, plan.tokens), np.int64)
        x = nn.gather(net, "embedding", net.normal("embedding/table", (plan.vocabulary, plan.hidden), 1.0), data, 0)
    return data, net.add("positioned", x, net.normal("positions", (1, plan.tokens, plan.hidden), 0.5))


def _halved(net: Builder, x: ov.Node) -> ov.Node:
    """`[1, T, C]` to `[1, T / 2, C]`, the mean of neighbours; a token at the end that has none is left out."""
    pairs = int(x.shape[1]) // 2
    if x.shape[1] % 2:
        names, values = ("start", "stop", "step", "axis"), (0, 2 * pairs, 1, 1)
        ends = [net.ints(f"even/{name}", (value,)) for name, value in zip(names, values, strict=True)]
        x = opset.slice(x, *ends, name=net.path("even"))
    beside = net.reshape("pairs", x, (1, pairs, 2, x.shape[-1]))
    return opset.reduce_mean(beside, net.ints("halved/axes", (2,)), keep_dims=False, name=net.path("halved"))


def _block(net: Builder, x: ov.Node, plan: _Plan, mask: ov.Node | None, memory: ov.Node | None) -> ov.Node:
    """Attention to itself, to the memory where there is one, and a feed-forward block."""
    scope = net.within("self")
    x = _residual(scope, x, plan, lambda y: nn.self_attention(scope, y, plan.heads, mask=mask))
    if memory is not None:
        across = net.within("cross")
        x = _residual(across, x, plan, lambda y: _cross_attention(across, y, memory, plan.heads))
    return _residual(net.within("inner"), x, plan, lambda y: _feed_forward(net.within("inner"), y, plan))


def _residual(net: Builder, x: ov.Node, plan: _Plan, part: Callable[[ov.Node], ov.Node]) -> ov.Node:
    """`x + part(x)`, normalised before or after or not at all."""
    inside = part(nn.layer_norm(net, "norm", x) if plan.norm == "before" else x)
    if plan.norm == "none":  # keeps the scale without a norm
        inside = nn.multiply(net, "weakened", inside, net.floats("strength", 0.3))
    total = net.add("residual", x, inside)
    return nn.layer_norm(net, "norm", total) if plan.norm == "after" else total


def _cross_attention(net: Builder, x: ov.Node, memory: ov.Node, heads: int) -> ov.Node:
    """Queries from `x` `[1, T, C]`, keys and values from the memory `[1, M, C]`."""
    query, key, value = (
        nn.split_heads(net, role, nn.linear(net, role, source, x.shape[-1]), heads)
        for role, source in (("query", x), ("key", memory), ("value", memory))
    )
    context = nn.merge_heads(net, "heads", nn.scaled_dot_product_attention(net, query, key, value, None))
    return nn.linear(net, "output", context, x.shape[-1])


def _feed_forward(net: Builder, x: ov.Node, plan: _Plan) -> ov.Node:
    wide = nn.linear(net, "up", x, plan.inner)
    if plan.activation == "gated":
        gate = opset.sigmoid(nn.linear(net, "gate", x, plan.inner), name=net.path("sigmoid"))
        active = nn.multiply(net, "gated", wide, gate)
    elif plan.activation == "relu":
        active = net.relu("relu", wide)
    else:
        active = opset.gelu(wide, "tanh" if plan.activation == "gelu_tanh" else "erf", name=net.path("gelu"))
    return nn.linear(net, "down", active, x.shape[-1])


def _causal_mask(net: Builder, x: ov.Node) -> ov.Node:
    """Summand of the scores `[1, heads, T, T]` of `x` `[1, T, C]` that hides later tokens."""
    tokens = x.shape[1]
    return net.floats("causal_mask", np.triu(np.full((1, 1, tokens, tokens), _MASKED), k=1))
