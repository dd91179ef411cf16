"""Learning a policy from what its placements took: REINFORCE, its clipped form, or imitation of the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning import checkpoint
from ovplace.learning.dropout import dropping
from ovplace.learning.surrogate import surrogate
from ovplace.placers.hsdag.grouper import Level
from ovplace.placers.hsdag.policy import Output, Policy, PolicyGraph, repeated

BATCH_NODES = 4000
"""Nodes of copies that go through the network together: on BERT, fewer or more (1,200, 20,000) took longer."""

IMITATED = 0.9
"""Mean probability of imitated devices that is enough."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """A graph as it was encoded and parsed at one time.

    Attributes:
        state: what was added to its features, `[N, H]`; None for nothing.
        levels: how it was parsed.
    """

    state: Tensor | None
    levels: tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class Step:
    """One placement drawn.

    Attributes:
        encoding: number of its encoding.
        devices: device of each group, `[C]`.
        log_p: log probability of these when they were drawn.
    """

    encoding: int
    devices: IntArray
    log_p: float


@dataclass(frozen=True)
class Update:
    """How to learn from a buffer of steps.

    Attributes:
        epochs: passes over the buffer.
        clip: how far a pass may move the probability of a step, as a fraction, PPO's clipping; 0 for no limit.
        entropy: weight of the mean entropy of the devices of a group.
        max_grad_norm: longer gradients are shortened to this; 0 for no limit.
    """

    epochs: int
    clip: float
    entropy: float
    max_grad_norm: float


class Learner:
    """A policy with its optimiser.

    Args:
        policy: what learns.
        learning_rate: of Adam (Kingma and Ba 2015).
        learns_levels: whether the number of levels was drawn, so that its probability is learned, too.
    """

    def __init__(self, policy: Policy, learning_rate: float, learns_levels: bool) -> None:
        """Start with a new optimiser."""
        self.policy, self._learns_levels = policy, learns_levels
        self.optimiser = torch.optim.Adam(policy.parameters(), lr=learning_rate, fused=True)

    def learn(
        self,
        graph: PolicyGraph,
        encodings: Sequence[Encoding],
        steps: Sequence[Step],
        weights: FloatArray,
        update: Update,
        seed: int,
    ) -> None:
        """Make steps `[K]` more or less likely, by their weights `[K]`.

        Descends the mean of minus weight times log probability (REINFORCE, Williams 1992), or, with clipping, the
        surrogate of Schulman et al. 2017 (PPO, equation 7).

        Args:
            graph: what the policy sees.
            encodings: of the graph, M of them.
            steps: placements drawn, each on one of the encodings.
            weights: reward, return or advantage of each, `[K]`.
            update: how.
            seed: of the dropout.
        """
        with dropping(self.policy, seed):
            for _ in range(update.epochs):
                self.optimiser.zero_grad()
                embedded = self.policy.embedded(graph)
                seen = embedded.detach().requires_grad_()  # gathers the gradient of all batches
                for batch in _batches(encodings, len(graph)):
                    self._descend(graph, encodings, batch, steps, weights, update, seen)
                embedded.backward(seen.grad)  # type: ignore[no-untyped-call]
                self._step(update.max_grad_norm)

    def imitate(self, graph: PolicyGraph, encoding: Encoding, device_of: IntArray, epochs: int, seed: int) -> None:
        """Make the devices `device_of` `[N]` of the nodes likely: cross-entropy, a group's nodes voting.

        It stops where they are likely enough: a policy that is sure of them would draw nothing else.
        """
        rows = torch.arange(len(graph))
        with dropping(self.policy, seed):
            for _ in range(epochs):
                self.optimiser.zero_grad()
                out = self._again(graph, [encoding])
                chosen = out.log_p[torch.from_numpy(out.parsed.group_of)][rows, torch.from_numpy(device_of)]
                if float(chosen.detach().exp().mean()) >= IMITATED:
                    break
                (-chosen.clamp(min=-20.0).mean()).backward()  # type: ignore[no-untyped-call]  # a group that cannot go there has probability 0
                self._step(1.0)

    def dump(self) -> str:
        """Return weights and optimiser as text."""
        return checkpoint.dump(self.policy, self.optimiser)

    def restore(self, text: str) -> None:
        """Take over what `dump` returned."""
        checkpoint.restore(text, self.policy, self.optimiser)

    def _descend(
        self,
        graph: PolicyGraph,
        encodings: Sequence[Encoding],
        batch: IntArray,
        steps: Sequence[Step],
        weights: FloatArray,
        update: Update,
        embedded: Tensor,
    ) -> None:
        """Add the gradient of the steps on some of the encodings."""
        place = {int(number): i for i, number in enumerate(batch)}
        taken = [k for k, step in enumerate(steps) if step.encoding in place]
        out = self._again(graph, [encodings[int(number)] for number in batch], embedded)
        copy_of = [place[steps[k].encoding] for k in taken]
        log_p = log_p_of(out, [steps[k].devices for k in taken], copy_of, len(batch), self._learns_levels)
        before = torch.tensor([steps[k].log_p for k in taken])
        gain = surrogate(log_p, before, torch.from_numpy(weights[taken]).float(), update.clip)
        loss = -gain.sum() / len(steps) - update.entropy * _entropy(out) * len(batch) / len(encodings)
        loss.backward()  # type: ignore[no-untyped-call]

    def _again(self, graph: PolicyGraph, encodings: Sequence[Encoding], embedded: Tensor | None = None) -> Output:
        """Return what the policy says now of encodings parsed as they were; all have equally many levels."""
        levels = [repeated(same) for same in zip(*(e.levels for e in encodings), strict=True)]
        states, more = [e.state for e in encodings], lambda done, _: done < len(levels)
        out: Output = self.policy(graph, states, levels, more, embedded)
        return out

    def _step(self, max_grad_norm: float) -> None:
        if max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), max_grad_norm)
        self.optimiser.step()


def _batches(encodings: Sequence[Encoding], n_nodes: int) -> list[IntArray]:
    """Return numbers of encodings that go together: with equally many levels, and not too many nodes."""
    depth = np.array([len(e.levels) for e in encodings])
    size = max(1, BATCH_NODES // max(n_nodes, 1))
    found = []
    for levels in np.unique(depth):
        same = np.flatnonzero(depth == levels)
        found += [same[start : start + size] for start in range(0, len(same), size)]
    return found


def log_p_of(
    out: Output, devices: Sequence[IntArray], copy_of: Sequence[int], copies: int, learns_levels: bool
) -> Tensor:
    """Return the log probability of choices of devices, `[K]`; also of the number of levels, where that was drawn.

    Args:
        out: what the policy says of copies of a graph.
        devices: device of each group of a copy, `[C]` each.
        copy_of: which copy each choice is of, `[K]`.
        copies: number of copies.
        learns_levels: whether the number of levels was drawn.
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


def _entropy(out: Output) -> Tensor:
    """Return the mean entropy of the devices of a group, nats."""
    p = out.log_p.exp()
    return -(p * out.log_p.clamp(min=-50.0)).sum(dim=1).mean()
