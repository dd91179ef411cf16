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
        stops_drawn: number of levels after which it was drawn whether another follows: none if their number is given,
            and all but the last one if nothing was left to merge.
    """

    state: Tensor | None
    levels: tuple[Level, ...]
    stops_drawn: int


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
    out: PolicyOutput, devices: Sequence[IntArray], copy_of: Sequence[int], encodings: Sequence[Encoding]
) -> Tensor:
    """Return the log probability of steps: of their devices, their groups and, if drawn, their number of levels.

    Args:
        out: output of the policy for copies of a graph.
        devices: device of each group of a copy, `[C]` for each of K steps.
        copy_of: index of the copy that each step belongs to, `[K]`.
        encodings: encodings of the copies, which have the same number of levels.

    Returns:
        `[K]`.
    """
    copies = len(encodings)
    copy_of_group = np.empty(len(out.parsed.z), dtype=np.int64)
    copy_of_group[out.parsed.group_of] = np.repeat(np.arange(copies), len(out.z) // copies)
    start = np.searchsorted(copy_of_group, np.arange(copies))
    rows = np.concatenate([start[c] + np.arange(len(d)) for d, c in zip(devices, copy_of, strict=True)])
    chosen = out.log_p[torch.from_numpy(rows), torch.from_numpy(np.concatenate(devices))]
    choice_of = torch.from_numpy(np.repeat(np.arange(len(devices)), [len(d) for d in devices]))
    log_p = chosen.new_zeros(len(devices)).index_add(0, choice_of, chosen)
    return log_p + (out.parsed.log_p + _levels_log_p(out.parsed.p_stop, encodings))[list(copy_of)]


def _levels_log_p(p_stop: Tensor, encodings: Sequence[Encoding]) -> Tensor:
    """Return the log probability of the numbers of levels, as far as they were drawn, `[B]`."""
    p = p_stop.clamp(1e-6, 1 - 1e-6)
    of_each = torch.cat([torch.log(1 - p[:-1]), torch.log(p[-1:])])
    drawn = torch.tensor([encoding.stops_drawn for encoding in encodings])
    return (of_each * (torch.arange(len(p))[:, None] < drawn)).sum(dim=0)
