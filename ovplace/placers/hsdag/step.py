"""Steps of a rollout, and their log probability under the present weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import IntArray
from ovplace.placers.hsdag.network.levels import Level
from ovplace.placers.hsdag.network.policy import PolicyOutput


@dataclass(frozen=True, eq=False)
class Encoding:
    """The state and the groups with which the graph was encoded at one time.

    Attributes:
        state: tensor added to the embedded features, `[N, H]`; None for nothing.
        levels: levels of the parse.
    """

    state: Tensor | None
    levels: tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class RolloutStep:
    """One drawn placement.

    Attributes:
        encoding: index of its encoding in the rollout.
        devices: device of each group of the parse, `[C]`.
        log_p: log probability of the step when it was drawn.
    """

    encoding: int
    devices: IntArray
    log_p: float


def step_log_p(
    out: PolicyOutput, devices: Sequence[IntArray], copy_of: Sequence[int], copies: int, learns_levels: bool
) -> Tensor:
    """Return the log probability of steps: of their devices, their groups and, if drawn, their number of levels.

    Args:
        out: output of the policy for copies of a graph.
        devices: device of each group of a copy, `[C]` for each of K steps.
        copy_of: index of the copy that each step belongs to, `[K]`.
        copies: number of copies.
        learns_levels: whether the number of levels was drawn.

    Returns:
        `[K]`.
    """
    copy_of_group = np.empty(len(out.parsed.z), dtype=np.int64)
    copy_of_group[out.parsed.group_of] = np.repeat(np.arange(copies), len(out.z) // copies)
    start = np.searchsorted(copy_of_group, np.arange(copies))
    rows = np.concatenate([start[c] + np.arange(len(d)) for d, c in zip(devices, copy_of, strict=True)])
    chosen = out.log_p[torch.from_numpy(rows), torch.from_numpy(np.concatenate(devices))]
    choice_of = torch.from_numpy(np.repeat(np.arange(len(devices)), [len(d) for d in devices]))
    log_p = chosen.new_zeros(len(devices)).index_add(0, choice_of, chosen) + out.parsed.log_p[list(copy_of)]
    if not learns_levels:
        return log_p
    p = out.parsed.p_stop.clamp(1e-6, 1 - 1e-6)
    return log_p + (torch.log(p[-1]) + torch.log(1 - p[:-1]).sum(dim=0))[list(copy_of)]
