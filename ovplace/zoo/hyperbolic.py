"""A pixel classifier in hyperbolic space: distances in the Poincare ball to one prototype a class.

The embedding and its map into the ball follow Ganea et al., "Hyperbolic Neural Networks" (2018), the
distance is that of Nickel and Kiela, "Poincare Embeddings for Learning Hierarchical Representations"
(2017). A class weighs as a Student t kernel of its distance, the heavy tail of van der Maaten and Hinton,
"Visualizing Data using t-SNE" (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.layers import sequence as nn
from ovplace.zoo.layers.builder import Builder, Window

SUMMARY = "Hyperbolic pixel classifier, acosh, log and power"

_EMBEDDING_RADIUS, _PROTOTYPE_RADIUS = 0.7, 0.9
"""Euclidean norms that pixels stay below and prototypes have; the gap keeps acosh well-conditioned."""


@dataclass(frozen=True)
class Config:
    """Sizes of the classifier.

    Attributes:
        width: Channels of the hidden layers.
        embedding: Dimensions of the ball.
        classes: Prototypes.
        size: Height and width of the image.
        power: The exponent of the distance in the kernel.
        seed: Seed of the weights.
    """

    width: int = 32
    embedding: int = 16
    classes: int = 48
    size: int = 112
    power: float = 1.5
    seed: int = 0


SMALL = Config(width=8, embedding=4, classes=6, size=32)


def build(config: Config) -> ov.Model:
    """Build image `[1, 3, size, size]` -> class probabilities `[1, classes, size, size]`."""
    net = Builder(np.random.default_rng(config.seed))
    image = nn.parameter("image", (1, 3, config.size, config.size))
    x = net.conv_relu("hidden0", image, config.width, Window(1))
    x = net.conv_relu("hidden1", x, config.width, Window(1))
    x = net.conv("embedding", x, config.embedding, Window(1))
    distance = _distance(net.within("distance"), _into_ball(net.within("ball"), x), config.classes)
    logits = _student_logits(net.within("kernel"), distance, config.power)
    probabilities = opset.softmax(logits, axis=1, name="softmax")
    return ov.Model(nn.results({"probabilities": probabilities}), [image], "hyperbolic")


def _into_ball(net: Builder, x: ov.Node) -> ov.Node:
    """The exponential map at the origin, tanh(|x|) x / |x|, shrunk to the embedding radius."""
    norm = opset.sqrt(_squared_norm(net, x), name=net.path("sqrt"))
    radius = opset.tanh(norm, name=net.path("tanh"))
    ratio = opset.divide(radius, norm, name=net.path("ratio"))
    ratio = nn.multiply(net, "shrink", ratio, net.floats("radius", _EMBEDDING_RADIUS))
    return nn.multiply(net, "scale", x, ratio)


def _squared_norm(net: Builder, x: ov.Node) -> ov.Node:
    """|x|^2 over the channels, `[1, 1, H, W]`, kept above zero so that its root can be divided by."""
    square = nn.multiply(net, "norm/square", x, x)
    total = opset.reduce_sum(square, net.ints("norm/axes", (1,)), keep_dims=True, name=net.path("norm"))
    return net.add("norm/add", total, net.floats("norm/eps", 1e-6))


def _distance(net: Builder, x: ov.Node, classes: int) -> ov.Node:
    """Distances acosh(1 + 2 |x - p|^2 / ((1 - |x|^2)(1 - |p|^2))) to all prototypes, `[1, classes, H, W]`."""
    prototypes = net.rng.standard_normal((classes, x.shape[1], 1, 1))
    prototypes *= _PROTOTYPE_RADIUS / np.linalg.norm(prototypes, axis=1, keepdims=True)
    kernels = net.floats("prototypes", -2 * prototypes)
    cross = opset.convolution(x, kernels, [1, 1], [0, 0], [0, 0], [1, 1], name=net.path("cross"))
    norm = _squared_norm(net, x)
    gap = net.add("gap", net.add("sum", cross, norm), net.floats("prototype_norm", _PROTOTYPE_RADIUS**2))
    room = opset.subtract(net.floats("one", 1), norm, name=net.path("room"))
    room = nn.multiply(net, "rooms", room, net.floats("half_prototype_room", (1 - _PROTOTYPE_RADIUS**2) / 2))
    stretch = opset.divide(gap, room, name=net.path("stretch"))
    return opset.acosh(net.add("argument", stretch, net.floats("start", 1)), name=net.path("acosh"))


def _student_logits(net: Builder, distance: ov.Node, power: float) -> ov.Node:
    """-log(1 + distance^power) times a learned sharpness a class."""
    reach = opset.power(distance, net.floats("exponent", power), name=net.path("power"))
    spread = opset.log(net.add("add", reach, net.floats("one", 1)), name=net.path("log"))
    classes = distance.shape[1]
    sharpness = net.floats("sharpness", -net.rng.uniform(2, 4, (1, classes, 1, 1)))
    return nn.multiply(net, "logits", spread, sharpness)
