"""MobileNetV2, inverted residuals with linear bottlenecks, laid out as in torchvision.

Source: Sandler, Howard, Zhu, Zhmoginov and Chen, "MobileNetV2: Inverted Residuals and Linear
Bottlenecks", 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers.builder import (
    RELU_GAIN,
    Builder,
    ClassifierConfig,
    Tensor,
    Window,
    finish,
    image,
    scale_channels,
)

SUMMARY = "MobileNetV2, 52 convolutions, 224x224"

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, output channels, number of blocks and first stride: table 2 of the paper."""

STEM_CHANNELS = 32
HEAD_CHANNELS = 1280


Config = ClassifierConfig
SMALL = Config(height=128, width=128, multiplier=0.75, classes=100)


@dataclass(frozen=True)
class _Block:
    """One inverted residual, in channel counts after the multiplier."""

    in_channels: int
    expansion: int
    out_channels: int
    stride: int

    @property
    def has_shortcut(self) -> bool:
        return self.stride == 1 and self.in_channels == self.out_channels


def build(config: Config) -> ov.Model:
    """Return the model, `data` `[N, 3, H, W]` to `logits` `[N, classes]`."""
    net = Builder(np.random.default_rng(config.seed))  # counts are scaled here: expansions follow their inputs
    data = image(config.batch, config.height, config.width)
    stem = scale_channels(STEM_CHANNELS, config.multiplier)
    features = _conv_relu6(net, "features/0", data, stem, Window(3, stride=2))
    for index, block in enumerate(_blocks(config.multiplier), start=1):
        features = _inverted_residual(net.within(f"features/{index}"), features, block)
    head = scale_channels(HEAD_CHANNELS, max(1.0, config.multiplier))  # as in the paper, the head never shrinks
    features = _conv_relu6(net, "features/18", features, head, Window(1))
    return finish("mobilenet-v2", data, {"logits": net.classifier(features, config.classes)})


def _blocks(multiplier: float) -> Iterator[_Block]:
    """Yield the stages spelt out, block by block."""
    channels = scale_channels(STEM_CHANNELS, multiplier)
    for expansion, out_channels, count, first_stride in STAGES:
        scaled = scale_channels(out_channels, multiplier)
        for index in range(count):
            yield _Block(channels, expansion, scaled, stride=1 if index else first_stride)
            channels = scaled


def _inverted_residual(net: Builder, data: Tensor, block: _Block) -> ov.Node:
    """Expand, filter a channel at a time, project without activation; `[N, C, H, W]` to `[N, C', H', W']`."""
    wide = data
    if block.expansion > 1:
        wide = _conv_relu6(net, "expand", data, block.in_channels * block.expansion, Window(1))
    filtered = _relu6(net, "depthwise", net.depthwise("depthwise", wide, Window(3, stride=block.stride)))
    narrow = net.conv("project", filtered, block.out_channels, Window(1))
    return net.add("add", data, narrow) if block.has_shortcut else narrow


def _conv_relu6(net: Builder, name: str, data: Tensor, channels: int, window: Window) -> ov.Node:
    return _relu6(net, name, net.conv(name, data, channels, window, gain=RELU_GAIN))


def _relu6(net: Builder, name: str, data: Tensor) -> ov.Node:
    return opset.clamp(data, 0.0, 6.0, name=net.path(f"{name}/relu6"))
