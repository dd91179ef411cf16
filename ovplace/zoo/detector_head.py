"""A small one-stage detector: residual backbone, top-down feature pyramid and heads on five scales.

Sources: Redmon and Farhadi, "YOLOv3: An Incremental Improvement", 2018, for the backbone, the top-down
path that concatenates and the box decoding; Liu et al., "SSD: Single Shot MultiBox Detector", 2016, for
the softmax scores and for scales below the backbone's. Non-maximum suppression is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers.builder import LINEAR_GAIN, Builder, Tensor, Window, channels_of, finish, image, spatial_size

SUMMARY = "Detector, feature pyramid and box heads on five scales, 256x256"

STAGES = ((1, 1), (2, 2), (4, 2), (8, 1))
"""Channels, in units of the first stage's, and residual blocks of each backbone stage."""

PYRAMID = 3
"""How many backbone stages the pyramid joins."""

EXTRA = 2
"""How many coarser scales follow."""

ANCHORS = ((4.0, 4.0), (5.6, 2.8), (2.8, 5.6))
"""Width and height of a cell's anchor boxes, in cells."""

REACH = 1.2
"""How many cells the sigmoid of a centre spans, so that a centre can lie on the cell's border (YOLOv4)."""

BRANCH_GAIN = 0.2
"""Keeps the sum over the residual blocks from growing, a ReLU's output never being negative."""

BOX_GAIN = 0.05
"""Keeps box offsets near zero and so boxes near their anchors: the exponential would blow them up."""


@dataclass(frozen=True)
class Config:
    """Options of the model.

    Attributes:
        batch: Images at once, N of the input `[N, 3, H, W]`.
        height: Image height in pixels.
        width: Image width in pixels.
        base: Channels of the first backbone stage.
        classes: Size of the last axis of the scores, the background included.
        seed: Seed of the weights.
    """

    batch: int = 1
    height: int = 256
    width: int = 256
    base: int = 32
    classes: int = 21
    seed: int = 0


SMALL = Config(height=160, width=160, base=16)


def build(config: Config) -> ov.Model:
    """Return the model, `data` `[N, 3, H, W]` to `boxes` `[N, A, 4]` and `scores` `[N, A, classes]`.

    Boxes are (x, y, width, height) of the centre and size, in parts of the image; A counts the anchors of
    every cell of every scale.
    """
    net = Builder(np.random.default_rng(config.seed))
    data = image(config.batch, config.height, config.width)
    scales = _pyramid(net.within("neck"), _backbone(net.within("backbone"), data, config.base))
    heads = [_head(net.within(f"head{i}"), scale, config.classes) for i, scale in enumerate(scales)]
    boxes, scores = zip(*heads, strict=True)
    outputs = {"boxes": net.concat("boxes/concat", boxes), "scores": net.concat("scores/concat", scores)}
    return finish("detector-head", data, outputs)


def _backbone(net: Builder, data: Tensor, base: int) -> list[Tensor]:
    """Return every stage's features; stage i is `[N, C_i, H / 2^(i+2), W / 2^(i+2)]`."""
    features = net.conv_relu("stem", data, base, Window(3, stride=2))
    stages = []
    for index, (factor, blocks) in enumerate(STAGES):
        features = _stage(net.within(f"stage{index}"), features, base * factor, blocks)
        stages.append(features)
    return stages


def _stage(net: Builder, data: Tensor, channels: int, blocks: int) -> ov.Node:
    """Halve the size, then add to the features what 1x1 and 3x3 convolutions find."""
    data = net.conv_relu("down", data, channels, Window(3, stride=2))
    for index in range(blocks):
        block = net.within(str(index))
        branch = block.conv_relu("conv1", data, channels // 2, Window(1))
        found = block.conv_relu("conv2", branch, channels, Window(3), gain=BRANCH_GAIN)
        data = block.add("add", data, found)
    return data


def _pyramid(net: Builder, stages: list[Tensor]) -> list[Tensor]:
    """Return the scales, finest first: three joined top-down, two halved from the backbone's end."""
    scales = [stages[-1]]
    for index, stage in enumerate(reversed(stages[-PYRAMID:-1])):
        scales.insert(0, _top_down(net.within(f"up{index}"), scales[0], stage))
    for index in range(EXTRA):
        scales.append(net.conv_relu(f"down{index}", scales[-1], channels_of(scales[-1]), Window(3, stride=2)))
    return scales


def _top_down(net: Builder, coarse: Tensor, fine: Tensor) -> ov.Node:
    """Resize the coarse features to the fine ones and join them, `[N, C, H, W]` of the fine."""
    channels = channels_of(fine)
    lateral = net.conv_relu("lateral", coarse, channels, Window(1))
    resized = net.upsample("upsample", lateral, spatial_size(fine), mode="nearest")
    joined = net.concat("concat", [fine, resized])
    return net.conv_relu("smooth", joined, channels, Window(3))


def _head(net: Builder, data: Tensor, classes: int) -> tuple[ov.Node, ov.Node]:
    """Return the boxes `[N, H * W * 3, 4]` and the scores `[N, H * W * 3, classes]` of one scale."""
    shared = net.conv_relu("shared", data, channels_of(data), Window(3))
    offsets = _anchor_rows(net.within("boxes"), shared, 4, BOX_GAIN)
    boxes = _decode(net.within("decode"), offsets, spatial_size(data))
    logits = _anchor_rows(net.within("scores"), shared, classes, LINEAR_GAIN)
    return boxes, opset.softmax(logits, axis=2, name=net.path("scores/softmax"))


def _anchor_rows(net: Builder, data: Tensor, values: int, gain: float) -> ov.Node:
    """Predict some values for every anchor: `[N, C, H, W]` to `[N, H * W * 3, values]`."""
    grid = net.conv("conv", data, len(ANCHORS) * values, Window(1), gain=gain)
    order = net.ints("transpose/order", (0, 2, 3, 1))
    rows = opset.transpose(grid, order, name=net.path("transpose"))
    return net.reshape("reshape", rows, (0, -1, values))


def _decode(net: Builder, rows: Tensor, size: tuple[int, int]) -> ov.Node:
    """Turn offsets into boxes, `[N, H * W * 3, 4]` both."""
    span, corners, anchors = _priors(net, *size)
    halves = opset.split(rows, net.ints("split/axis", 2), num_splits=2, name=net.path("split"))
    offset = opset.sigmoid(halves.output(0), name=net.path("sigmoid"))
    scaled = opset.multiply(offset, span, name=net.path("scale"))
    centre = net.add("centre", scaled, corners)
    growth = opset.exp(halves.output(1), name=net.path("exp"))
    extent = opset.multiply(growth, anchors, name=net.path("extent"))
    return opset.concat([centre, extent], axis=2, name=net.path("concat"))


def _priors(net: Builder, height: int, width: int) -> tuple[ov.Node, ov.Node, ov.Node]:
    """Return the centre's span `[1, 1, 2]`, cell corners and anchor sizes `[1, H * W * 3, 2]`."""
    cell = np.array([1 / width, 1 / height])
    rows, columns = np.mgrid[:height, :width]
    corners = np.stack([columns, rows], axis=-1).reshape(-1, 2) - (REACH - 1) / 2
    return (
        net.floats("span", [[REACH * cell]]),
        net.floats("corners", [np.repeat(corners * cell, len(ANCHORS), axis=0)]),
        net.floats("anchors", [np.tile(np.array(ANCHORS) * cell, (height * width, 1))]),
    )
