"""The model of the quick start: land cover from a radar interferogram, by three unlike branches.

Small, and built so that no device suits all of it. Radar pixels are complex, their phase repeats and their
amplitude spans decades, so one branch works with the functions that such signals are treated with, and two
with convolutions and matrix products, as networks do:

* texture: a plain convolutional network over the in-phase and quadrature channels;
* context: patches as tokens through one transformer block (Dosovitskiy et al., "An Image is Worth 16x16
  Words", 2021);
* signal: complex channels mixed from the input; their phase by atan, encoded at several frequencies by sin
  and cos (Tancik et al., "Fourier Features Let Networks Learn High Frequency Functions", 2020); their
  amplitude through the sinh-arcsinh transformation, which makes heavy tails normal (Jones and Pewsey,
  Biometrika, 2009); the two as a complex number again, cut into patches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder, Window

SUMMARY = "Demo, three branches, under 1 MB"

_PATCH = 8
_PATCHES = Window(_PATCH, stride=_PATCH, padding=0)
_SOFTENING = 0.1
"""Power added under the roots: the phase of a pixel without signal stays well-conditioned."""


@dataclass(frozen=True)
class Config:
    """Sizes of the demo.

    Attributes:
        size: Height and width of the image, a multiple of 8.
        signals: Complex channels of the signal branch.
        width: Channels that every branch delivers.
        heads: Attention heads of the context branch; they divide `width`.
        classes: Land cover classes.
        seed: Seed of the weights.
    """

    size: int = 96
    signals: int = 16
    width: int = 48
    heads: int = 4
    classes: int = 10
    seed: int = 0


SMALL = Config(size=32, signals=4, width=16)


def build(config: Config) -> ov.Model:
    """Build interferogram `[1, 2, size, size]` (in-phase, quadrature) -> logits `[1, classes]`."""
    net = Builder(np.random.default_rng(config.seed))
    data = nn.parameter("interferogram", (1, 2, config.size, config.size))
    branches = [
        _texture(net.within("texture"), data, config.width),
        _context(net.within("context"), data, config),
        _signal(net.within("signal"), data, config),
    ]
    merged = net.conv_relu("head/mix", net.concat("head/concat", branches), config.width, Window(1))
    logits = net.within("head").classifier(merged, config.classes)
    return ov.Model(nn.results({"logits": logits}), [data], "demo")


def _texture(net: Builder, data: ov.Node, width: int) -> ov.Node:
    """Three strided convolutions and a residual one, to `[1, width, size / 8, size / 8]`."""
    x = data
    for index, channels in enumerate((width // 2, width, width)):
        x = net.conv_relu(f"down{index}", x, channels, Window(3, stride=2))
    return net.relu("relu", net.add("residual", x, net.conv("conv", x, width, Window(3))))


def _context(net: Builder, data: ov.Node, config: Config) -> ov.Node:
    """One pre-norm transformer block over patches, to `[1, width, size / 8, size / 8]`."""
    patches = net.conv("patches", data, config.width, _PATCHES)
    grid = nn.transpose(net, "last", patches, (0, 2, 3, 1))
    x = net.reshape("tokens", grid, (1, -1, config.width))
    attended = nn.self_attention(net.within("attention"), nn.layer_norm(net, "norm0", x), config.heads)
    x = net.add("residual0", x, attended)
    inner = nn.linear(net, "inner", nn.layer_norm(net, "norm1", x), 2 * config.width)
    inner = opset.gelu(inner, "ERF", name=net.path("gelu"))
    x = net.add("residual1", x, nn.linear(net, "outer", inner, config.width))
    return nn.transpose(net, "first", net.reshape("grid", x, grid.shape), (0, 3, 1, 2))


def _signal(net: Builder, data: ov.Node, config: Config) -> ov.Node:
    """Phase and amplitude of mixed complex channels, to `[1, width, size / 8, size / 8]`."""
    real = net.conv("real", data, config.signals, Window(1))
    imaginary = net.conv("imaginary", data, config.signals, Window(1))
    amplitude, phase = _polar(net.within("polar"), real, imaginary)
    amplitude = _sinh_arcsinh(net.within("amplitude"), amplitude)
    frequency = _per_channel(net, "fringe/frequency", config.signals, 1, 6)
    turns = nn.multiply(net, "fringe/turns", phase, frequency)
    parts = [
        nn.multiply(net, f"fringe/{name}/scaled", amplitude, wave(turns, name=net.path(f"fringe/{name}")))
        for name, wave in (("cos", opset.cos), ("sin", opset.sin))
    ]
    joined = net.concat("complex", parts)
    return net.conv_relu("patches", joined, config.width, _PATCHES)


def _polar(net: Builder, real: ov.Node, imaginary: ov.Node) -> tuple[ov.Node, ov.Node]:
    """Softened amplitude sqrt(re^2 + im^2 + s) and half-plane phase atan(im / sqrt(re^2 + s))."""
    power = net.add("power", nn.multiply(net, "re2", real, real), net.floats("softening", _SOFTENING))
    total = net.add("total", power, nn.multiply(net, "im2", imaginary, imaginary))
    slope = opset.divide(imaginary, opset.sqrt(power, name=net.path("re")), name=net.path("slope"))
    return opset.sqrt(total, name=net.path("amplitude")), opset.atan(slope, name=net.path("phase"))


def _sinh_arcsinh(net: Builder, x: ov.Node) -> ov.Node:
    """sinh(tail * asinh(gain * x) - skew) with a gain, a tail weight and a skew a channel."""
    channels = x.shape[1]
    x = nn.multiply(net, "gained", x, _per_channel(net, "gain", channels, 0.5, 2))
    x = opset.asinh(x, name=net.path("asinh"))
    x = nn.multiply(net, "tailed", x, _per_channel(net, "tail", channels, 0.5, 0.9))
    x = opset.subtract(x, _per_channel(net, "skew", channels, 0.5, 1), name=net.path("skewed"))
    return opset.sinh(x, name=net.path("sinh"))


def _per_channel(net: Builder, name: str, channels: int, low: float, high: float) -> ov.Node:
    """A constant `[1, channels, 1, 1]`, uniform over [low, high)."""
    return net.floats(name, net.rng.uniform(low, high, (1, channels, 1, 1)))
