"""The layers that the transformer, recurrent and implicit-function recipes add to `builder.Builder`.

Tensors are `[batch, tokens, channels]` outside attention and `[batch, heads, tokens, head_dim]` inside.
Every function names what it makes in the scope of the builder it gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers.builder import BIAS_STD, Builder

SCALE_NOISE = 0.02
"""How far the scales of a normalisation stray from 1; exact ones would be optimised away."""

_EPSILON = 1e-12
"""What layer normalisation adds to the variance."""

_SWAP_HEADS_AND_TOKENS = (0, 2, 1, 3)


def parameter(name: str, shape: Sequence[int], dtype: type[np.generic] = np.float32) -> ov.Node:
    """Return a model input whose tensor has the name of the operation.

    Args:
        name: name of the operation and of its tensor.
        shape: static shape.
        dtype: element type.
    """
    node = opset.parameter(list(shape), dtype, name=name)
    node.output(0).set_names({name})
    return node


def results(outputs: Mapping[str, ov.Node]) -> list[ov.Node]:
    """Return the model outputs, tensor and operation named alike."""
    for name, node in outputs.items():
        node.output(0).set_names({name})
    return [opset.result(node, name=name) for name, node in outputs.items()]


def named(node: ov.Node, name: str) -> ov.Node:
    """Name an operation whose factory takes the argument `name` and forgets it.

    Args:
        node: the operation.
        name: its friendly name.
    """
    node.set_friendly_name(name)
    return node


def gather(net: Builder, name: str, table: ov.Node, indices: ov.Node, axis: int) -> ov.Node:
    """Pick the entries of `table` along an axis; scalar indices drop the axis.

    Args:
        net: the builder.
        name: name of the operation.
        table: the tensor to pick from.
        indices: i32 or i64 indices.
        axis: axis of `table`.
    """
    return opset.gather(table, indices, net.ints(f"{name}/axis", axis), name=net.path(name))


def scales(net: Builder, name: str, shape: Sequence[int]) -> ov.Node:
    """Return the factors of a normalisation, close to 1.

    Args:
        net: the builder, which draws them.
        name: name of the constant.
        shape: its shape.
    """
    return net.floats(name, 1 + SCALE_NOISE * net.rng.standard_normal(shape))


def project(net: Builder, name: str, x: ov.Node, units: int, std: float | None = None) -> ov.Node:
    """Matrix product over the last axis; the weight `[units, channels]` has std 1/sqrt(channels) or `std`.

    Args:
        net: the builder.
        name: name of the layer.
        x: input `[..., channels]`.
        units: output features.
        std: standard deviation of the weight.

    Returns:
        The product `[..., units]`.
    """
    channels = x.shape[-1]
    weight = net.normal(f"{name}/weight", (units, channels), channels**-0.5 if std is None else std)
    return opset.matmul(x, weight, transpose_a=False, transpose_b=True, name=net.path(name))


def linear(net: Builder, name: str, x: ov.Node, units: int, std: float | None = None) -> ov.Node:
    """`project` and a bias.

    Args:
        net: the builder.
        name: name of the layer.
        x: input `[..., channels]`.
        units: output features.
        std: standard deviation of the weight, 1/sqrt(channels) by default.

    Returns:
        The layer's output `[..., units]`.
    """
    product = project(net, name, x, units, std)
    return net.add(f"{name}/add", product, net.normal(f"{name}/bias", _last_axis(x, units), BIAS_STD))


def layer_norm(net: Builder, name: str, x: ov.Node) -> ov.Node:
    """Layer normalisation over the last axis (Ba et al., 2016), as OpenVINO writes it: MVN, Multiply, Add.

    Args:
        net: the builder.
        name: name of the layer.
        x: input `[..., channels]`.
    """
    shape = _last_axis(x, x.shape[-1])
    axes = net.ints(f"{name}/axes", (-1,))
    normal = opset.mvn(x, axes, True, _EPSILON, "INSIDE_SQRT", name=net.path(name))
    scaled = multiply(net, f"{name}/multiply", normal, scales(net, f"{name}/scale", shape))
    return net.add(f"{name}/add", scaled, net.normal(f"{name}/bias", shape, BIAS_STD))


def self_attention(
    net: Builder, x: ov.Node, heads: int, *, mask: ov.Node | None = None, std: float | None = None
) -> ov.Node:
    """Multi-head self-attention with its output projection, `[batch, tokens, channels]` to the same shape.

    Args:
        net: the builder.
        x: input `[batch, tokens, channels]`.
        heads: number of heads.
        mask: summand of the scores; see `scaled_dot_product_attention`.
        std: standard deviation of the projections' weights.
    """
    query, key, value = (
        split_heads(net, role, linear(net, role, x, x.shape[-1], std), heads)
        for role in ("query", "key", "value")  # the order of the calls fixes the weights
    )
    context = merge_heads(net, "heads", scaled_dot_product_attention(net, query, key, value, mask))
    return linear(net, "output", context, x.shape[-1], std)


def scaled_dot_product_attention(
    net: Builder, query: ov.Node, key: ov.Node, value: ov.Node, mask: ov.Node | None
) -> ov.Node:
    """Scaled dot-product attention (Vaswani et al., 2017) of `[batch, heads, tokens, head_dim]` tensors.

    `mask` is added to the scores; it broadcasts to `[batch, heads, query tokens, key tokens]`.

    Args:
        net: the builder.
        query: `[batch, heads, query tokens, head_dim]`.
        key: `[batch, heads, key tokens, head_dim]`.
        value: `[batch, heads, key tokens, head_dim]`.
        mask: summand of the scores, or None.
    """
    scores = opset.matmul(query, key, transpose_a=False, transpose_b=True, name=net.path("scores"))
    scores = multiply(net, "scaled_scores", scores, net.floats("scale", query.shape[-1] ** -0.5))
    if mask is not None:
        scores = net.add("masked_scores", scores, mask)
    shares = opset.softmax(scores, axis=-1, name=net.path("softmax"))
    return opset.matmul(shares, value, transpose_a=False, transpose_b=False, name=net.path("context"))


def split_heads(net: Builder, name: str, x: ov.Node, heads: int) -> ov.Node:
    """`[batch, tokens, channels]` to `[batch, heads, tokens, channels / heads]`.

    Args:
        net: the builder.
        name: name of the operations.
        x: input `[batch, tokens, channels]`.
        heads: number of heads.

    Raises:
        ValueError: they do not divide the channels; OpenVINO would leave some out.
    """
    size, left = divmod(x.shape[-1], heads)
    if left:
        raise ValueError(f"{heads} heads do not divide {x.shape[-1]} channels")
    parts = net.reshape(f"{name}/split", x, (0, 0, heads, size))
    return transpose(net, f"{name}/transpose", parts, _SWAP_HEADS_AND_TOKENS)


def merge_heads(net: Builder, name: str, x: ov.Node) -> ov.Node:
    """`[batch, heads, tokens, head_dim]` to `[batch, tokens, heads * head_dim]`.

    Args:
        net: the builder.
        name: name of the operations.
        x: input `[batch, heads, tokens, head_dim]`.
    """
    parts = transpose(net, f"{name}/transpose", x, _SWAP_HEADS_AND_TOKENS)
    return net.reshape(f"{name}/merge", parts, (0, 0, -1))


def additive_mask(net: Builder, attention_mask: ov.Node) -> ov.Node:
    """`[batch, tokens]` of 1 (attend) and 0 (ignore) to the summands 0 and -10000 `[batch, 1, 1, tokens]`.

    The finite -10000 is that of the published BERT code: a row where everything is masked stays free of NaN.

    Args:
        net: the builder.
        attention_mask: `[batch, tokens]` of 1 and 0.
    """
    wide = unsqueeze(net, "unsqueeze", attention_mask, (1, 2))
    kept = opset.convert(wide, "f32", name=net.path("convert"))
    ignored = opset.subtract(net.floats("one", 1), kept, name=net.path("subtract"))
    return multiply(net, "multiply", ignored, net.floats("minimum", -10000))


def unsqueeze(net: Builder, name: str, x: ov.Node, axes: Sequence[int]) -> ov.Node:
    """Insert axes of size 1.

    Args:
        net: the builder.
        name: name of the operation.
        x: its input.
        axes: where they go in the output.
    """
    return named(opset.unsqueeze(x, net.ints(f"{name}/axes", axes)), net.path(name))


def transpose(net: Builder, name: str, x: ov.Node, order: Sequence[int]) -> ov.Node:
    """Permute the axes.

    Args:
        net: the builder.
        name: name of the operation.
        x: its input.
        order: axes of `x` in their new order.
    """
    return opset.transpose(x, net.ints(f"{name}/order", order), name=net.path(name))


def multiply(net: Builder, name: str, left: ov.Node, right: ov.Node) -> ov.Node:
    """Elementwise product with broadcasting.

    Args:
        net: the builder.
        name: name of the operation.
        left: first factor.
        right: second factor.
    """
    return opset.multiply(left, right, name=net.path(name))


def _last_axis(x: ov.Node, size: int) -> tuple[int, ...]:
    """The shape of a tensor that has `size` entries in the last of the axes of `x` and 1 in all others."""
    return (1,) * (len(x.shape) - 1) + (size,)
