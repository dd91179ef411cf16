"""ResNet-50, the residual network with bottleneck blocks, laid out as in torchvision.

Source: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2015; the stride sits on
the 3x3 convolution, as in torchvision's version 1.5.
"""

from __future__ import annotations

import numpy as np
import openvino as ov

from ovplace.zoo.layers.builder import Builder, ClassifierConfig, Tensor, Window, finish, image

SUMMARY = "ResNet-50, 53 convolutions, 224x224"

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Bottleneck channels and number of blocks, stage by stage."""

EXPANSION = 4

BRANCH_GAIN = 0.25
"""Keeps what a branch adds small; at a gain of 1 the variance would double with every block."""


Config = ClassifierConfig
SMALL = Config(height=96, width=96, multiplier=0.5, classes=100)


def build(config: Config) -> ov.Model:
    """Return the model, `data` `[N, 3, H, W]` to `logits` `[N, classes]`."""
    net = Builder(np.random.default_rng(config.seed), config.multiplier)
    data = image(config.batch, config.height, config.width)
    stem = net.conv_relu("conv1", data, 64, Window(7, stride=2))
    features = net.max_pool("maxpool", stem, Window(3, stride=2, padding=1))
    for index, (channels, blocks) in enumerate(STAGES, start=1):
        stride = 1 if index == 1 else 2
        features = _stage(net.within(f"layer{index}"), features, channels, blocks, stride)
    return finish("resnet-50", data, {"logits": net.classifier(features, config.classes)})


def _stage(net: Builder, data: Tensor, channels: int, blocks: int, stride: int) -> ov.Node:
    """Blocks of one resolution; the first changes the shape, so its shortcut is a convolution."""
    first = net.within("0")
    shortcut = first.conv("downsample", data, channels * EXPANSION, Window(1, stride=stride))
    data = _bottleneck(first, data, shortcut, channels, stride)
    for index in range(1, blocks):
        data = _bottleneck(net.within(str(index)), data, data, channels, stride=1)
    return data


def _bottleneck(net: Builder, data: Tensor, shortcut: Tensor, channels: int, stride: int) -> ov.Node:
    """1x1, 3x3 and 1x1 convolutions beside the shortcut, `[N, C, H, W]` to `[N, 4 channels, H', W']`."""
    branch = net.conv_relu("conv1", data, channels, Window(1))
    branch = net.conv_relu("conv2", branch, channels, Window(3, stride=stride))
    branch = net.conv("conv3", branch, channels * EXPANSION, Window(1), gain=BRANCH_GAIN)
    return net.relu("relu", net.add("add", branch, shortcut))
