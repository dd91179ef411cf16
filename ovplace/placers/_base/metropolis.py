"""The Metropolis rule of simulated annealing."""

from __future__ import annotations

from math import exp, log

import numpy as np


def accepts(ratio: float, current: float, temperature: float, rng: np.random.Generator) -> bool:
    """Return whether simulated annealing moves from one placement to another.

    The energy E is the logarithm of the latency ratio. A move that does not increase it is accepted, any other one with
    probability `exp(-dE / T)`; a random number is drawn only for the latter. A failed placement has infinite energy.

    Args:
        ratio: latency ratio of the proposed placement, infinite for a failure.
        current: latency ratio of the current placement, infinite for a failure.
        temperature: T, in units of the logarithm of the ratio, above 0.
        rng: source of randomness.

    Source: Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983.
    """
    return ratio <= current or bool(rng.random() < exp(-log(ratio / current) / temperature))
