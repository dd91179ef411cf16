"""Placements from one forward pass of the policy, without grouping or search."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import IntArray
from ovplace.placers.hsdag.network.levels import fixed_level
from ovplace.placers.hsdag.network.policy import HsdagPolicy, PolicyOutput
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph

TOLERANCE = 1e-3
"""Log probabilities that differ by less count as equal."""


def group_log_p(policy: HsdagPolicy, graph: PolicyGraph) -> Tensor:
    """Return the log probability of each device for each of the problem's groups.

    Args:
        policy: the policy.
        graph: its input.

    Returns:
        `[G, D]`.
    """
    output: PolicyOutput = policy(
        graph, [None], lambda _, pairs, __: fixed_level(graph.group_of, pairs.shape[1]), lambda *_: False
    )
    return output.log_p


def zero_shot_choice(policy: HsdagPolicy, graph: PolicyGraph) -> IntArray:
    """Return the most probable device of each of the problem's groups.

    Args:
        policy: the policy.
        graph: its input.

    Returns:
        `[G]`.
    """
    with torch.no_grad():
        return most_probable(group_log_p(policy, graph))


def most_probable(log_p: Tensor) -> IntArray:
    """Return the most probable device, the first of equals, from log probabilities `[G, D]`.

    Identical devices are equally probable up to rounding, which would split a model between them: without the
    tolerance, a model of 49 groups took 4.5 times the optimal latency on two identical devices.
    """
    near = log_p >= log_p.max(dim=1, keepdim=True).values - TOLERANCE
    return np.asarray(near.int().argmax(dim=1).numpy())
