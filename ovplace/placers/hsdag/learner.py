"""Learner: updates of the policy by REINFORCE, by its clipped form (PPO), or by imitation of a placement.

Source: HSDAG, arXiv 2405.14185, equation 14 (REINFORCE); clipping and imitation are not published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.objectives import entropy_terms, surprisal, surrogate_gain
from ovplace.learning.optimiser import Optimiser
from ovplace.placers.hsdag.network.dropout import active_dropout
from ovplace.placers.hsdag.network.levels import joined_levels
from ovplace.placers.hsdag.network.policy import HsdagPolicy, PolicyOutput
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph
from ovplace.placers.hsdag.rollout import Rollout
from ovplace.placers.hsdag.step import Encoding, step_log_p

BATCH_NODES = 4000
"""Nodes in one batch of copies of the graph: on BERT, 1,200 and 20,000 took longer."""

IMITATED_P = 0.9
"""Mean probability of the imitated devices at which imitation stops."""

IMITATION_GRAD_NORM = 1.0
"""Limit on the norm of the gradient while imitating."""


@dataclass(frozen=True)
class UpdateSettings:
    """Settings of one update.

    Attributes:
        epochs: passes over the buffer.
        clip: PPO's limit on the relative change of a step's probability; 0 for none.
        entropy: weight of the mean entropy of a group's device.
        max_grad_norm: gradients with a larger norm are scaled to this one; 0 for no limit.
    """

    epochs: int
    clip: float
    entropy: float
    max_grad_norm: float


class HsdagLearner:
    """A policy with its optimiser.

    Attributes:
        policy: the policy being learned.
    """

    def __init__(self, policy: HsdagPolicy, learning_rate: float) -> None:
        """Start with a new optimiser.

        Args:
            policy: the policy to learn.
            learning_rate: learning rate of Adam.
        """
        self.policy = policy
        self._optimiser = Optimiser(policy, learning_rate, fused=True)

    def learn(
        self, rollout: Rollout, weights: FloatArray, settings: UpdateSettings, seed: int, drawn_from: str = ""
    ) -> None:
        """Change the probability of a rollout's steps according to their weights.

        Descends the mean of minus weight times log probability (REINFORCE, Williams 1992), or, with clipping, the
        surrogate of Schulman et al. 2017 (PPO, equation 7).

        Args:
            rollout: K steps on M encodings of its graph.
            weights: reward, return or advantage of each step, `[K]`.
            settings: settings of the update.
            seed: seed of the dropout masks.
            drawn_from: what `dump` returned when the rollout was drawn, for the first gradient at those weights; empty
                for the present ones.
        """
        with active_dropout(self.policy, seed):
            for epoch in range(settings.epochs):
                with self._optimiser.at("" if epoch else drawn_from):
                    embedded = self.policy.embedded(rollout.graph)
                    shared = embedded.detach().requires_grad_()  # accumulates the gradient of all batches
                    for batch in _batches(rollout.encodings, len(rollout.graph)):
                        self._add_gradient(rollout, batch, weights, settings, shared)
                    torch.autograd.backward(embedded, shared.grad)
                self._optimiser.step(settings.max_grad_norm)

    def imitate(self, graph: PolicyGraph, encoding: Encoding, device_of: IntArray, epochs: int, seed: int) -> None:
        """Descend the cross-entropy to a placement, mean over nodes, until it is sufficiently probable.

        A policy that is certain of the placement would draw nothing else.

        Args:
            graph: input of the policy.
            encoding: how the graph is encoded and parsed.
            device_of: device of each node in the placement, `[N]`.
            epochs: highest number of steps.
            seed: seed of the dropout masks.
        """
        rows = torch.arange(len(graph))
        with active_dropout(self.policy, seed):
            for _ in range(epochs):
                out = self._replayed(graph, [encoding])
                chosen = out.log_p[torch.from_numpy(out.parsed.group_of)][rows, torch.from_numpy(device_of)]
                if float(chosen.detach().exp().mean()) >= IMITATED_P:
                    break
                torch.autograd.backward(surprisal(chosen).mean())
                self._optimiser.step(IMITATION_GRAD_NORM)

    def dump(self) -> str:
        """Return weights and optimiser state as text."""
        return self._optimiser.dump()

    def restore(self, text: str) -> None:
        """Replace weights and optimiser state by those that `dump` returned."""
        self._optimiser.restore(text)

    def _add_gradient(
        self, rollout: Rollout, batch: IntArray, weights: FloatArray, settings: UpdateSettings, embedded: Tensor
    ) -> None:
        """Add the gradient of the steps on some of the encodings."""
        encodings, steps = rollout.encodings, rollout.steps
        place = {int(number): i for i, number in enumerate(batch)}
        taken = [k for k, step in enumerate(steps) if step.encoding in place]
        replayed = [encodings[int(number)] for number in batch]
        out = self._replayed(rollout.graph, replayed, embedded)
        log_p = step_log_p(out, [steps[k].devices for k in taken], [place[steps[k].encoding] for k in taken], replayed)
        before = torch.tensor([steps[k].log_p for k in taken])
        gain = surrogate_gain(log_p, before, torch.from_numpy(weights[taken]).float(), settings.clip)
        entropy = entropy_terms(out.log_p).sum(dim=1).mean()
        loss = -gain.sum() / len(steps) - settings.entropy * entropy * len(batch) / len(encodings)
        torch.autograd.backward(loss)

    def _replayed(
        self, graph: PolicyGraph, encodings: Sequence[Encoding], embedded: Tensor | None = None
    ) -> PolicyOutput:
        """Return the present output for encodings parsed as before, all with the same number of levels."""
        levels = [joined_levels(same) for same in zip(*(e.levels for e in encodings), strict=True)]
        states, go_on = [e.state for e in encodings], lambda done, _: done < len(levels)
        out: PolicyOutput = self.policy(graph, states, levels, go_on, embedded)
        return out


def _batches(encodings: Sequence[Encoding], n_nodes: int) -> list[IntArray]:
    """Return batches of indices of encodings with the same number of levels and at most `BATCH_NODES` nodes."""
    depth = np.array([len(e.levels) for e in encodings])
    size = max(1, BATCH_NODES // max(n_nodes, 1))
    found = []
    for levels in np.unique(depth):
        same = np.flatnonzero(depth == levels)
        found += [same[start : start + size] for start in range(0, len(same), size)]
    return found
