"""The probability that an assignment makes placements fail, from which placements did: group testing."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

_ROUNDS = 100
"""Rounds of expectation maximisation."""

_PRIOR = 0.02
"""Prior probability of an assignment to fail, weighted as one placement."""

_LARGEST = 0.999
"""Largest probability, so that the logarithm of that of running stays finite."""


def failure_probabilities(choices: IntArray, ran: BoolArray, n_devices: int) -> FloatArray:
    """Return the probability that a group, on a device, makes a placement fail.

    A placement fails if one of its assignments makes it fail, each independently: a noisy-OR model (Pearl,
    "Probabilistic Reasoning in Intelligent Systems", 1988), fitted by expectation maximisation. Assignments seen in a
    successful placement get probability 0, and so do those seen in none, of which only the prior is known.

    Args:
        choices: device of each group in placements that were tried, `[B, G]`.
        ran: whether each ran, `[B]`.
        n_devices: number of devices D.

    Returns:
        Probabilities, `[G, D]`.
    """
    on = choices[:, :, None] == np.arange(n_devices)
    suspect = on[~ran].any(axis=0) & ~on[ran].any(axis=0)
    found = np.zeros(suspect.shape)
    seen = on[~ran][:, suspect]  # [F, S]
    if not seen.any():
        return found
    count, p = seen.sum(axis=0), np.full(seen.shape[1], _PRIOR)
    for _ in range(_ROUNDS):
        runs = np.exp(seen @ np.log1p(-p))
        share = seen * p / np.maximum(1 - runs, 1e-12)[:, None]  # probability of each to fail, given that it failed
        p = np.minimum((share.sum(axis=0) + _PRIOR) / (count + 1), _LARGEST)
    found[suspect] = p
    return found
