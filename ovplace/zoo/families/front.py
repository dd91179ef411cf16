"""A convolutional front end, which makes tokens of an image, or steps of a spectrogram."""

from __future__ import annotations

from dataclasses import dataclass

import openvino as ov

from ovplace.zoo.families.draws import Draws
from ovplace.zoo.layers.builder import Builder, Tensor, Window, scale_channels


@dataclass(frozen=True)
class Front:
    """The structure of a front end.

    Attributes:
        halvings: Number of convolutions that halve both axes; 0 for no front end.
        channels: Channels of the first of them; each of the next two has twice as many as the one before.
        extra: Convolutions that keep the size, after each that halves it.
    """

    halvings: int = 0
    channels: int = 0
    extra: int = 0

    @classmethod
    def drawn(cls, draws: Draws) -> Front:
        """Draw the structure of a front end."""
        return cls(draws.count(2, 4), draws.size(8, 64, 8), draws.count(0, 3))

    @property
    def factor(self) -> int:
        """Ratio of input to output size along each axis."""
        return int(2**self.halvings)

    def build(self, net: Builder, data: ov.Node) -> Tensor:
        """`[1, I, H, W]` to `[1, C, H / factor, W / factor]`.

        Args:
            net: the builder.
            data: the image or spectrogram `[1, I, H, W]`.

        Returns:
            The features `[1, C, H / factor, W / factor]`.
        """
        x: Tensor = data
        for i in range(self.halvings):
            scope, channels = net.within(f"front{i}"), scale_channels(self.channels, min(2**i, 4))
            x = scope.conv_relu("halve", x, channels, Window(3, 2))
            for j in range(self.extra):
                x = scope.conv_relu(f"conv{j}", x, channels, Window(3))
        return x
