"""SIREN: Sitzmann et al., "Implicit Neural Representations with Periodic Activation Functions" (2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder

SUMMARY = "SIREN, an image as a network of sines"

_DIMENSIONS, _COLOURS = 2, 3


@dataclass(frozen=True)
class Config:
    """The image fit of the paper, on a `size` x `size` grid of coordinates.

    Attributes:
        width: Channels of every sine layer.
        layers: Sine layers, before the linear output layer.
        size: Height and width of the grid.
        omega: The frequency factor omega_0 inside every sine.
        seed: Seed of the weights.
    """

    width: int = 64
    layers: int = 5
    size: int = 128
    omega: float = 30.0
    seed: int = 0


SMALL = Config(width=16, size=32)


def build(config: Config) -> ov.Model:
    """Build coordinates `[1, 2, size, size]` -> colours `[1, 3, size, size]`, in 1x1 convolutions."""
    net = Builder(np.random.default_rng(config.seed))
    coordinates = nn.parameter("coordinates", (1, _DIMENSIONS, config.size, config.size))
    x = coordinates
    for index in range(config.layers):
        limit = _limit(config.width, config.omega) if index else 1 / _DIMENSIONS
        x = _sine_layer(net.within(f"layer{index}"), x, config, limit)
    colours = _linear(net, "output", x, _COLOURS, _limit(config.width, config.omega))
    return ov.Model(nn.results({"colours": colours}), [coordinates], "siren")


def _limit(fan_in: int, omega: float) -> float:
    """The bound of the uniform weights that makes every pre-activation behind a sine a unit normal."""
    return math.sqrt(6 / fan_in) / omega


def _sine_layer(net: Builder, x: ov.Node, config: Config, limit: float) -> ov.Node:
    x = _linear(net, "linear", x, config.width, limit)
    x = nn.multiply(net, "multiply", x, net.floats("omega", config.omega))
    return opset.sin(x, name=net.path("sin"))


def _linear(net: Builder, name: str, x: ov.Node, channels: int, limit: float) -> ov.Node:
    """A 1x1 convolution with uniform weights; the bias is PyTorch's default, as in the published code."""
    fan_in = x.shape[1]
    weight = net.rng.uniform(-limit, limit, (channels, fan_in, 1, 1))
    bias = net.rng.uniform(-(fan_in**-0.5), fan_in**-0.5, (1, channels, 1, 1))
    kernels = net.floats(f"{name}/weight", weight)
    product = opset.convolution(x, kernels, [1, 1], [0, 0], [0, 0], [1, 1], name=net.path(name))
    return net.add(f"{name}/add", product, net.floats(f"{name}/bias", bias))
