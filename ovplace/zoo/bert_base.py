"""BERT-base, the encoder of Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2019)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder

SUMMARY = "BERT-base, 12 layers"

_STD = 0.02  # of every weight matrix, as in the paper's code


@dataclass(frozen=True)
class Config:
    """The published sizes.

    Attributes:
        layers: Encoder layers.
        hidden: Channels of a token.
        heads: Attention heads; they divide `hidden`.
        feed_forward: Channels inside the feed-forward block.
        vocabulary: Rows of the word table.
        positions: Rows of the position table, at least `tokens`.
        tokens: Sequence length; HSDAG (Duan et al., 2024) uses 8.
        seed: Seed of the weights.
    """

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    feed_forward: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    tokens: int = 128
    seed: int = 0


SMALL = Config(hidden=48, heads=4, feed_forward=96, vocabulary=200, positions=32, tokens=16)


def build(config: Config) -> ov.Model:
    """Build the encoder with its pooler.

    Inputs, all i64 `[1, tokens]`: input_ids, attention_mask, token_type_ids. Outputs: last_hidden_state
    `[1, tokens, hidden]` and pooler_output `[1, hidden]`.
    """
    net = Builder(np.random.default_rng(config.seed))
    names = ("input_ids", "attention_mask", "token_type_ids")
    ids, mask, types = inputs = [nn.parameter(name, (1, config.tokens), np.int64) for name in names]
    x = _embeddings(net.within("embeddings"), ids, types, config)
    summand = nn.additive_mask(net.within("mask"), mask)
    for index in range(config.layers):
        x = _layer(net.within(f"layer{index}"), x, summand, config)
    outputs = {"last_hidden_state": x, "pooler_output": _pooler(net.within("pooler"), x)}
    return ov.Model(nn.results(outputs), inputs, "bert-base")


def _embeddings(net: Builder, ids: ov.Node, types: ov.Node, config: Config) -> ov.Node:
    if config.tokens > config.positions:
        raise ValueError(f"{config.tokens} tokens have no place in {config.positions} positions")
    positions = net.ints("position/ids", range(config.tokens))
    words = _look_up(net, "word", ids, (config.vocabulary, config.hidden))
    kinds = _look_up(net, "token_type", types, (2, config.hidden))
    places = _look_up(net, "position", positions, (config.positions, config.hidden))
    total = net.add("add_position", net.add("add_token_type", words, kinds), places)
    return nn.layer_norm(net, "norm", total)


def _look_up(net: Builder, name: str, indices: ov.Node, shape: tuple[int, int]) -> ov.Node:
    return nn.gather(net, name, net.normal(f"{name}/table", shape, _STD), indices, axis=0)


def _layer(net: Builder, x: ov.Node, mask: ov.Node, config: Config) -> ov.Node:
    attended = nn.self_attention(net.within("attention"), x, config.heads, mask=mask, std=_STD)
    x = nn.layer_norm(net, "attention_norm", net.add("attention_residual", attended, x))
    inner = nn.linear(net, "feed_forward/inner", x, config.feed_forward, _STD)
    inner = opset.gelu(inner, "ERF", name=net.path("feed_forward/gelu"))
    outer = nn.linear(net, "feed_forward/outer", inner, config.hidden, _STD)
    return nn.layer_norm(net, "feed_forward_norm", net.add("feed_forward_residual", outer, x))


def _pooler(net: Builder, x: ov.Node) -> ov.Node:
    """The vector of the first token through a dense layer and Tanh."""
    first = nn.gather(net, "first_token", x, net.ints("first_token/index", 0), axis=1)
    return opset.tanh(nn.linear(net, "dense", first, x.shape[-1], _STD), name=net.path("tanh"))
