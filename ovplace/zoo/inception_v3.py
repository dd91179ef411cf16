"""Inception-V3, the factorised inception network, laid out as in torchvision without the auxiliary head.

Source: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception Architecture for Computer
Vision", 2015. Block names (`Mixed_5b` to `Mixed_7c`) are torchvision's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers.builder import Builder, ClassifierConfig, Tensor, Window, finish, image

SUMMARY = "Inception-V3, 94 convolutions, 299x299"


@dataclass(frozen=True)
class Config(ClassifierConfig):
    """An image classifier for larger images, 75 pixels a side or more.

    Attributes:
        height: Image height in pixels.
        width: Image width in pixels.
        transform_input: Scale and shift each channel first, as torchvision's model with published weights does.
    """

    height: int = 299
    width: int = 299
    transform_input: bool = False


IMAGENET = ((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))
"""Mean and standard deviation of each channel over ImageNet."""

SMALL = Config(height=139, width=139, multiplier=0.5, classes=100)


def build(config: Config) -> ov.Model:
    """Return the model, `data` `[N, 3, H, W]` to `logits` `[N, classes]`."""
    net = Builder(np.random.default_rng(config.seed), config.multiplier)
    data = image(config.batch, config.height, config.width)
    features = _stem(net, _transformed(net.within("transform"), data) if config.transform_input else data)
    for name, pool_channels in (("5b", 32), ("5c", 64), ("5d", 64)):
        features = _block_a(net.within(f"Mixed_{name}"), features, pool_channels)
    features = _block_b(net.within("Mixed_6a"), features)
    for name, channels in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
        features = _block_c(net.within(f"Mixed_{name}"), features, channels)
    features = _block_d(net.within("Mixed_7a"), features)
    for name in ("7b", "7c"):
        features = _block_e(net.within(f"Mixed_{name}"), features)
    return finish("inception-v3", data, {"logits": net.classifier(features, config.classes)})


def _transformed(net: Builder, data: Tensor) -> ov.Node:
    """From ImageNet's mean and deviation of each channel to mean 0.5 and deviation 0.5."""
    channels = []
    for index, (mean, deviation) in enumerate(IMAGENET):
        own = net.within(str(index))
        plane = opset.gather(data, own.ints("index", index), own.ints("axis", 1), name=own.path("gather"))
        plane = opset.unsqueeze(plane, own.ints("axes", 1), name=own.path("unsqueeze"))
        scaled = opset.multiply(plane, own.floats("scale", deviation / 0.5), name=own.path("multiply"))
        channels.append(own.add("add", scaled, own.floats("shift", (mean - 0.5) / 0.5)))
    return net.concat("concat", channels)


def _stem(net: Builder, data: Tensor) -> ov.Node:
    """`[N, 3, 299, 299]` to `[N, 192, 35, 35]`."""
    data = net.conv_relu("Conv2d_1a_3x3", data, 32, Window(3, stride=2, padding=0))
    data = net.conv_relu("Conv2d_2a_3x3", data, 32, Window(3, padding=0))
    data = net.conv_relu("Conv2d_2b_3x3", data, 64, Window(3))
    data = net.max_pool("maxpool1", data, Window(3, stride=2, padding=0))
    data = net.conv_relu("Conv2d_3b_1x1", data, 80, Window(1))
    data = net.conv_relu("Conv2d_4a_3x3", data, 192, Window(3, padding=0))
    return net.max_pool("maxpool2", data, Window(3, stride=2, padding=0))


def _block_a(net: Builder, data: Tensor, pool_channels: int) -> ov.Node:
    """1x1, 5x5 and double 3x3 branches at 35x35."""
    return net.concat(
        "concat",
        [
            _chain(net, "branch1x1", data, (64, 1)),
            _chain(net, "branch5x5", data, (48, 1), (64, 5)),
            _chain(net, "branch3x3dbl", data, (64, 1), (96, 3), (96, 3)),
            _pool_branch(net, data, pool_channels),
        ],
    )


def _block_b(net: Builder, data: Tensor) -> ov.Node:
    """Halve 35x35 to 17x17."""
    double = _chain(net, "branch3x3dbl", data, (64, 1), (96, 3))
    return net.concat(
        "concat",
        [
            _halve(net, "branch3x3/1", data, 384),
            _halve(net, "branch3x3dbl/3", double, 96),
            net.max_pool("branch_pool", data, Window(3, stride=2, padding=0)),
        ],
    )


def _block_c(net: Builder, data: Tensor, channels: int) -> ov.Node:
    """7x7 branches factorised into 1x7 and 7x1, at 17x17."""
    single = ((channels, 1), (channels, (1, 7)), (192, (7, 1)))
    double = ((channels, 1), (channels, (7, 1)), (channels, (1, 7)), (channels, (7, 1)), (192, (1, 7)))
    return net.concat(
        "concat",
        [
            _chain(net, "branch1x1", data, (192, 1)),
            _chain(net, "branch7x7", data, *single),
            _chain(net, "branch7x7dbl", data, *double),
            _pool_branch(net, data, 192),
        ],
    )


def _block_d(net: Builder, data: Tensor) -> ov.Node:
    """Halve 17x17 to 8x8."""
    narrow = _chain(net, "branch3x3", data, (192, 1))
    factorised = _chain(net, "branch7x7x3", data, (192, 1), (192, (1, 7)), (192, (7, 1)))
    return net.concat(
        "concat",
        [
            _halve(net, "branch3x3/2", narrow, 320),
            _halve(net, "branch7x7x3/4", factorised, 192),
            net.max_pool("branch_pool", data, Window(3, stride=2, padding=0)),
        ],
    )


def _block_e(net: Builder, data: Tensor) -> ov.Node:
    """Branches that end in a 1x3 and a 3x1 side by side, at 8x8."""
    single = _chain(net, "branch3x3", data, (384, 1))
    double = _chain(net, "branch3x3dbl", data, (448, 1), (384, 3))
    return net.concat(
        "concat",
        [
            _chain(net, "branch1x1", data, (320, 1)),
            _fork(net.within("branch3x3"), single),
            _fork(net.within("branch3x3dbl"), double),
            _pool_branch(net, data, 192),
        ],
    )


def _chain(net: Builder, name: str, data: Tensor, *steps: tuple[int, int | tuple[int, int]]) -> ov.Node:
    """Convolutions one after the other, each given as (channels, kernel)."""
    for index, (channels, kernel) in enumerate(steps, start=1):
        data = net.conv_relu(f"{name}/{index}", data, channels, Window(kernel))
    return data


def _halve(net: Builder, name: str, data: Tensor, channels: int) -> ov.Node:
    return net.conv_relu(name, data, channels, Window(3, stride=2, padding=0))


def _fork(net: Builder, data: Tensor) -> ov.Node:
    """`[N, 384, H, W]` to `[N, 768, H, W]`."""
    return net.concat(
        "concat",
        [net.conv_relu("a", data, 384, Window((1, 3))), net.conv_relu("b", data, 384, Window((3, 1)))],
    )


def _pool_branch(net: Builder, data: Tensor, channels: int) -> ov.Node:
    """3x3 average, the padding counted as in torch, then a 1x1 convolution."""
    pooled = opset.avg_pool(data, [1, 1], [1, 1], [1, 1], [3, 3], exclude_pad=False, name=net.path("avgpool"))
    return net.conv_relu("branch_pool", pooled, channels, Window(1))
