"""The layers that the convolutional recipes share: named, seeded, BatchNorm already folded in.

A recipe draws with one `Builder`. The builder holds the random generator, the channel multiplier and
the scope that prefixes every friendly name, so that a layer's code says only what the layer is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import openvino as ov
from openvino import opset13 as opset

Tensor: TypeAlias = ov.Node | ov.Output
"""What a layer takes: a node with one output, or one output of a node with several."""

RELU_GAIN = 2.0
"""Weight variance times fan-in that keeps the scale through a ReLU (He et al., 2015)."""

LINEAR_GAIN = 1.0
"""The same for a layer that no ReLU follows."""

BIAS_STD = 0.05


@dataclass(frozen=True)
class ClassifierConfig:
    """Options of an image classifier.

    Attributes:
        batch: Images at once, N of the input `[N, 3, H, W]`.
        height: Image height in pixels.
        width: Image width in pixels.
        multiplier: Scale of all channel counts.
        classes: Size of the output `[N, classes]`.
        seed: Seed of the weights.
    """

    batch: int = 1
    height: int = 224
    width: int = 224
    multiplier: float = 1.0
    classes: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class Window:
    """Kernel, stride and padding of a convolution or pooling.

    Attributes:
        kernel: Size of the kernel, one number for both axes or (height, width).
        stride: Step of the kernel in both axes.
        padding: Zeros on all sides; None for as many as keep the size of the image where the kernel is odd.
    """

    kernel: int | tuple[int, int]
    stride: int = 1
    padding: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the kernel."""
        return (self.kernel, self.kernel) if isinstance(self.kernel, int) else self.kernel

    def attributes(self) -> dict[str, list[int]]:
        """Return the arguments that the opset's sliding operations share."""
        pads = [size // 2 if self.padding is None else self.padding for size in self.shape]
        return {"strides": [self.stride] * 2, "pads_begin": pads, "pads_end": pads, "dilations": [1, 1]}


@dataclass(frozen=True)
class Builder:
    """Makes layers with random weights and readable names.

    Attributes:
        rng: Source of all weights; scopes share it, so that the order of calls fixes the weights.
        multiplier: Factor on the channels of each `conv`.
        scope: Prefix of every name, without the trailing slash.
    """

    rng: np.random.Generator
    multiplier: float = 1.0
    scope: str = ""

    def within(self, name: str) -> Builder:
        """Return the same builder one scope deeper."""
        return replace(self, scope=self.path(name))

    def path(self, name: str) -> str:
        """Return the full friendly name of `name` in this scope."""
        return f"{self.scope}/{name}" if self.scope else name

    def normal(self, name: str, shape: Sequence[int], std: float) -> ov.Node:
        """Return a constant of the given shape, drawn from N(0, std^2).

        Args:
            name: name of the operation.
            shape: its shape.
            std: standard deviation.
        """
        return self.floats(name, self.rng.standard_normal(shape, dtype=np.float32) * np.float32(std))

    def floats(self, name: str, values: npt.ArrayLike) -> ov.Node:
        """Return the values as an f32 constant.

        Args:
            name: name of the operation.
            values: its values.
        """
        return opset.constant(np.asarray(values, np.float32), name=self.path(name))

    def ints(self, name: str, values: npt.ArrayLike) -> ov.Node:
        """Return the values as an i64 constant: an axis, axes, sizes, a target shape.

        Args:
            name: name of the operation.
            values: its values.
        """
        return opset.constant(np.asarray(values, np.int64), name=self.path(name))

    def conv(
        self,
        name: str,
        data: Tensor,
        channels: int,
        window: Window,
        gain: float = LINEAR_GAIN,
    ) -> ov.Node:
        """Convolution and bias, `[N, I, H, W]` to `[N, O, H', W']`, O being `channels` scaled.

        Args:
            name: name of the layer.
            data: input `[N, I, H, W]`.
            channels: output channels before scaling.
            window: kernel, stride and padding.
            gain: gain of the initialisation.
        """
        shape = (scale_channels(channels, self.multiplier), channels_of(data), *window.shape)
        weight = self._weight(name, shape, gain)
        product = opset.convolution(data, weight, **window.attributes(), name=self.path(name))
        return self._biased(name, product)

    def conv_relu(
        self,
        name: str,
        data: Tensor,
        channels: int,
        window: Window,
        gain: float = RELU_GAIN,
    ) -> ov.Node:
        """`conv` and a ReLU, with the weights scaled for it.

        Args:
            name: name of the layer.
            data: input `[N, I, H, W]`.
            channels: output channels before scaling.
            window: kernel, stride and padding.
            gain: gain of the initialisation.
        """
        return self.relu(f"{name}/relu", self.conv(name, data, channels, window, gain))

    def depthwise(self, name: str, data: Tensor, window: Window) -> ov.Node:
        """One filter a channel and bias, for a ReLU: `[N, C, H, W]` to `[N, C, H', W']`.

        Args:
            name: name of the layer.
            data: input `[N, C, H, W]`.
            window: kernel, stride and padding.
        """
        weight = self._weight(name, (channels_of(data), 1, 1, *window.shape), RELU_GAIN)
        product = opset.group_convolution(data, weight, **window.attributes(), name=self.path(name))
        return self._biased(name, product)

    def dense(self, name: str, data: Tensor, units: int) -> ov.Node:
        """Fully connected layer and bias, `[N, C]` to `[N, units]`; the weight is `[units, C]`.

        Args:
            name: name of the layer.
            data: input `[N, C]`.
            units: output features.
        """
        weight = self._weight(name, (units, channels_of(data)), LINEAR_GAIN)
        product = opset.matmul(data, weight, transpose_a=False, transpose_b=True, name=self.path(name))
        return self._biased(name, product)

    def relu(self, name: str, data: Tensor) -> ov.Node:
        """ReLU of any shape.

        Args:
            name: name of the operation.
            data: its input.
        """
        return opset.relu(data, name=self.path(name))

    def add(self, name: str, left: Tensor, right: Tensor) -> ov.Node:
        """Elementwise sum of two nodes of one shape, as at the end of a residual block.

        Args:
            name: name of the operation.
            left: first summand.
            right: second summand, of the same shape.
        """
        return opset.add(left, right, name=self.path(name))

    def concat(self, name: str, parts: Sequence[Tensor]) -> ov.Node:
        """Join `[N, C_i, ...]` along axis 1.

        Args:
            name: name of the operation.
            parts: tensors `[N, C_i, ...]`.
        """
        return opset.concat(list(parts), axis=1, name=self.path(name))

    def max_pool(self, name: str, data: Tensor, window: Window) -> ov.Output:
        """Max pooling, `[N, C, H, W]` to `[N, C, H', W']`; the indices, its second output, stay unused.

        Args:
            name: name of the operation.
            data: input `[N, C, H, W]`.
            window: kernel, stride and padding.
        """
        shape = list(window.shape)
        pool = opset.max_pool(data, **window.attributes(), kernel_shape=shape, name=self.path(name))
        return pool.output(0)

    def upsample(self, name: str, data: Tensor, size: Sequence[int], mode: str) -> ov.Node:
        """Resize `[N, C, H, W]` to `[N, C, *size]`; mode is 'linear_onnx' (bilinear) or 'nearest'.

        Args:
            name: name of the operation.
            data: input `[N, C, H, W]`.
            size: height and width of the output.
            mode: interpolation mode of Interpolate.
        """
        return opset.interpolate(
            data,
            self.ints(f"{name}/size", size),
            mode,
            shape_calculation_mode="sizes",
            coordinate_transformation_mode="half_pixel",
            axes=self.ints(f"{name}/axes", (2, 3)),
            name=self.path(name),
        )

    def classifier(self, data: Tensor, classes: int) -> ov.Node:
        """Global average pooling and a fully connected layer, `[N, C, H, W]` to `[N, classes]`.

        Args:
            data: features `[N, C, H, W]`.
            classes: number of classes.
        """
        axes = self.ints("avgpool/axes", (2, 3))
        pooled = opset.reduce_mean(data, axes, keep_dims=True, name=self.path("avgpool"))
        flat = self.reshape("flatten", pooled, (0, -1))
        return self.dense("fc", flat, classes)

    def reshape(self, name: str, data: Tensor, shape: Sequence[int]) -> ov.Node:
        """Reshape where 0 keeps an axis and -1 is what remains.

        Args:
            name: name of the operation.
            data: its input.
            shape: the target shape.
        """
        target = self.ints(f"{name}/shape", shape)
        return opset.reshape(data, target, special_zero=True, name=self.path(name))

    def _weight(self, name: str, shape: Sequence[int], gain: float) -> ov.Node:
        """A weight whose first axis is the output; all others count as fan-in."""
        return self.normal(f"{name}/weight", shape, math.sqrt(gain / math.prod(shape[1:])))

    def _biased(self, name: str, data: Tensor) -> ov.Node:
        rank = len(data.shape)
        bias = self.normal(f"{name}/bias", (1, channels_of(data), *[1] * (rank - 2)), BIAS_STD)
        return self.add(f"{name}/add", data, bias)


def image(batch: int, height: int, width: int) -> ov.Node:
    """Return the input of an image model, `data` of f32 `[N, 3, H, W]`.

    Args:
        batch: N.
        height: H in pixels.
        width: W in pixels.
    """
    data = opset.parameter([batch, 3, height, width], np.float32, name="data")
    data.output(0).set_names({"data"})
    return data


def finish(name: str, data: ov.Node, outputs: Mapping[str, ov.Node]) -> ov.Model:
    """Return the model from `data` to the named outputs.

    Args:
        name: name of the model.
        data: its Parameter.
        outputs: what becomes a Result, by name.
    """
    results = [opset.result(node, name=output) for output, node in outputs.items()]
    for output, node in outputs.items():
        node.output(0).set_names({output})
    return ov.Model(results, [data], name)


def scale_channels(channels: int, multiplier: float) -> int:
    """Scale a channel count, to a multiple of 8 where the multiplier is not 1 (Sandler et al., 2018).

    It is the nearest multiple, or the next one where that would lose more than a tenth, as in torchvision.

    Args:
        channels: channels at multiplier 1.
        multiplier: width multiplier.
    """
    if multiplier == 1.0:
        return channels
    wanted = channels * multiplier
    nearest = max(8, int(wanted + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * wanted else nearest


def channels_of(data: Tensor) -> int:
    """Return the size of axis 1."""
    return int(data.shape[1])


def spatial_size(data: Tensor) -> tuple[int, int]:
    """Return (height, width) of `[N, C, H, W]`."""
    _, _, height, width = data.shape
    return int(height), int(width)
