"""The option and the random draws that the recipes of all families share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.seeds import generator


@dataclass(frozen=True)
class Config:
    """The option that selects a model of the family.

    Attributes:
        index: Its number; it decides structure, sizes and weights.
    """

    index: int = 0

    def __post_init__(self) -> None:
        """Check the number."""
        if self.index < 0:
            raise ValueError(f"index must not be negative, got {self.index}")


class Draws:
    """The random choices of one model, each in the order of the calls."""

    def __init__(self, family: str, config: Config) -> None:
        """Begin the stream of the model; its weights are drawn from `rng`, too, once the structure is known.

        Args:
            family: name of the family.
            config: the model's number.
        """
        self.rng = generator(config.index, "zoo", "families", family)

    def one_of(self, *options: str) -> str:
        """Return one of the options, each equally likely."""
        return options[self.rng.integers(len(options))]

    def chance(self, probability: float) -> bool:
        """Return true that often."""
        return bool(self.rng.random() < probability)

    def count(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both among them.

        Args:
            low: the smallest.
            high: the largest.
        """
        return int(self.rng.integers(low, high + 1))

    def size(self, low: int, high: int, step: int = 1) -> int:
        """Return a multiple of `step` between two others, uniform in its logarithm: sizes differ by factors.

        Args:
            low: the smallest.
            high: the largest.
            step: the size is a multiple of it.
        """
        drawn = np.exp(self.rng.uniform(np.log(low), np.log(high)))
        return int(np.clip(round(drawn / step) * step, low, high))
