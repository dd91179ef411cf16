"""The noise of simulated measurements."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate

import numpy as np

from ovplace.core.measurement import MeasureSpec
from ovplace.graphs.op_graph import FloatArray

_GRAIN_MS = 1e-3
"""No clock tells less."""


@dataclass(frozen=True)
class Noise:
    """The variation of latencies.

    Attributes:
        sigma: standard deviation of the logarithm of each inference's latency.
        autocorrelation: correlation of an inference's noise with that of the inference before it, whichever candidate
            that was of.
        compilation_sigma: standard deviation of the logarithm of a factor on all latencies of a compilation.
        drift: amplitude of a slow wave in the latencies of all candidates of a request, as a fraction.
        drift_period_s: period of that wave in seconds.
        outlier_probability: probability that something else disturbs an inference.
        outlier_factor: largest factor on the latency of such an inference.
    """

    sigma: float = 0.0
    autocorrelation: float = 0.0
    compilation_sigma: float = 0.0
    drift: float = 0.0
    drift_period_s: float = 30.0
    outlier_probability: float = 0.0
    outlier_factor: float = 3.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for item in fields(self):
            if not 0 <= getattr(self, item.name) < math.inf:
                raise ValueError(f"{item.name} must not be negative, got {getattr(self, item.name)}")
        for name in ("drift", "autocorrelation"):
            if getattr(self, name) >= 1:
                raise ValueError(f"{name} must be below 1, got {getattr(self, name)}")
        if self.outlier_probability > 1:
            raise ValueError(f"outlier_probability must be at most 1, got {self.outlier_probability}")
        if self.outlier_factor < 1:
            raise ValueError(f"outlier_factor must be at least 1, got {self.outlier_factor}")
        if not self.drift_period_s:
            raise ValueError(f"drift_period_s must be positive, got {self.drift_period_s}")

    def scaled(self, factor: float) -> Noise:
        """Return noise of `factor` times the strength; 0 is none."""
        return replace(
            self,
            sigma=self.sigma * factor,
            compilation_sigma=self.compilation_sigma * factor,
            drift=min(self.drift * factor, 0.9),
            outlier_probability=min(self.outlier_probability * factor, 1.0),
        )


class RequestNoise:
    """The noise of one request: a clock of simulated time, and the slow wave of all its latencies."""

    def __init__(self, noise: Noise, rng: np.random.Generator) -> None:
        """Start at a random point of the wave.

        Args:
            noise: the variation of latencies.
            rng: source of randomness.
        """
        self._noise, self._rng = noise, rng
        self._phase = rng.uniform(0, 2 * math.pi)
        self._elapsed_ms = 0.0
        self._last = 0.0

    def in_turns_ms(
        self, latencies_ms: Sequence[float], spec: MeasureSpec, references: Collection[int] = ()
    ) -> list[list[FloatArray]]:
        """Return the samples of candidates that are compiled and take turns.

        Args:
            latencies_ms: of the candidates, without noise.
            spec: how long and how often.
            references: indices of candidates that are references.

        Returns:
            The samples in ms of each candidate, block by block.
        """
        compiled_ms = [max(_GRAIN_MS, latency_ms * self.compilation()) for latency_ms in latencies_ms]
        taken: list[list[FloatArray]] = [[] for _ in compiled_ms]
        for block in range(spec.blocks):
            for i, (blocks, latency_ms) in enumerate(zip(taken, compiled_ms, strict=True)):
                hopeless = latency_ms > spec.hopeless_ratio * min(compiled_ms)
                if not (hopeless and block) or i in references:
                    long_enough = int(np.ceil(spec.min_time_ms / latency_ms))
                    count = 1 if hopeless else max(spec.repeats, long_enough if spec.repeats > 1 else 1)
                    blocks.append(self.samples_ms(latency_ms, count))
        return taken

    def compilation(self) -> float:
        """Return the factor of one compilation."""
        return float(np.exp(self._noise.compilation_sigma * self._rng.standard_normal()))

    def samples_ms(self, latency_ms: float, count: int) -> FloatArray:
        """Return the latencies of inferences in a row, and let their time pass.

        Args:
            latency_ms: latency without noise.
            count: number of inferences.

        Returns:
            Latencies in ms, `[count]`.
        """
        noise, rng = self._noise, self._rng
        samples = latency_ms * np.exp(noise.sigma * self._normals(count))
        hit = rng.random(count) < noise.outlier_probability
        samples = samples * np.where(hit, rng.uniform(1, noise.outlier_factor, count), 1.0)
        at_s = (self._elapsed_ms + np.cumsum(samples)) / 1e3
        samples = samples * (1 + noise.drift * np.sin(self._phase + 2 * math.pi * at_s / noise.drift_period_s))
        self._elapsed_ms += float(samples.sum())
        return np.asarray(samples)

    def _normals(self, count: int) -> FloatArray:
        """Return standard normal numbers, each correlated with the one before it."""
        kept = self._noise.autocorrelation
        new = math.sqrt(1 - kept**2)
        drawn = self._rng.standard_normal(count).tolist()
        _, *values = accumulate(drawn, lambda before, z: kept * before + new * z, initial=self._last)
        self._last = values[-1]
        return np.array(values)
