"""Which choices make placements fail, told from which placements did: group testing."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

_ROUNDS = 100
_PRIOR = 0.02
"""As if each choice had been in one placement before, and had made that much of it fail."""

_SURE = 0.999


def blame(choices: IntArray, ran: BoolArray, n_devices: int) -> FloatArray:
    """Return the probability that a group, on a device, makes a placement fail, `[G, D]`.

    A placement fails if one of its choices makes it fail (a noisy or, Pearl 1988), each by itself; fitted by
    expectation maximisation. What was part of a placement that ran has probability 0, and so has what was part of
    none: all that is known of it is the prior.

    Args:
        choices: device of each group in placements that were tried, `[B, G]`.
        ran: whether each ran, `[B]`.
        n_devices: number of devices D.
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
        share = seen * p / np.maximum(1 - runs, 1e-12)[:, None]  # how likely each made it fail, as it did fail
        p = np.minimum((share.sum(axis=0) + _PRIOR) / (count + 1), _SURE)
    found[suspect] = p
    return found
