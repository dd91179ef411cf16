"""A U-Net of modest width that segments an image, with bilinear upsampling.

Source: Ronneberger, Fischer and Brox, "U-Net: Convolutional Networks for Biomedical Image Segmentation",
2015. As in most later versions, convolutions keep the size and a bilinear resize, not a transposed
convolution, leads up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers.builder import Builder, Tensor, Window, finish, image, spatial_size

SUMMARY = "U-Net, 19 convolutions, bilinear upsampling, 160x160"

DEPTH = 4
"""How often the image is halved."""


@dataclass(frozen=True)
class Config:
    """Options of the model.

    Attributes:
        batch: Images at once, N of the input `[N, 3, H, W]`.
        height: Image height in pixels, 16 or more.
        width: Image width in pixels, 16 or more.
        base: Channels of the first level (64 in the paper); each level below doubles them.
        classes: Size of axis 1 of the output `[N, classes, H, W]`.
        seed: Seed of the weights.
    """

    batch: int = 1
    height: int = 160
    width: int = 160
    base: int = 16
    classes: int = 4
    seed: int = 0


SMALL = Config(height=112, width=112, base=8)


def build(config: Config) -> ov.Model:
    """Return the model, `data` `[N, 3, H, W]` to `mask`, class probabilities `[N, classes, H, W]`."""
    net = Builder(np.random.default_rng(config.seed))
    data = image(config.batch, config.height, config.width)
    features = _double(net.within("enc0"), data, config.base)
    skips = []
    for level in range(1, DEPTH + 1):
        skips.append(features)
        features = _down(net.within(f"enc{level}"), features, config.base << level)
    for level in reversed(range(DEPTH)):
        features = _up(net.within(f"dec{level}"), features, skips[level], config.base << level)
    scores = net.conv("head", features, config.classes, Window(1))
    return finish("unet", data, {"mask": opset.softmax(scores, axis=1, name="softmax")})


def _double(net: Builder, data: Tensor, channels: int) -> ov.Node:
    """Two 3x3 convolutions, `[N, I, H, W]` to `[N, channels, H, W]`."""
    data = net.conv_relu("conv1", data, channels, Window(3))
    return net.conv_relu("conv2", data, channels, Window(3))


def _down(net: Builder, data: Tensor, channels: int) -> ov.Node:
    """`[N, I, H, W]` to `[N, channels, H/2, W/2]`."""
    return _double(net, net.max_pool("maxpool", data, Window(2, stride=2, padding=0)), channels)


def _up(net: Builder, data: Tensor, skip: Tensor, channels: int) -> ov.Node:
    """Resize to the size of the skip connection, which may be odd, and join the two: `[N, channels, 2H, 2W]`."""
    resized = net.upsample("upsample", data, spatial_size(skip), mode="linear_onnx")
    return _double(net, net.concat("concat", [skip, resized]), channels)
