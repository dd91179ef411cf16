"""How Placeto's policy learns: from what each step of its episodes gained, or by imitation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning import checkpoint
from ovplace.placers.placeto.episodes import Episodes, baseline, context_of, returns, rewards
from ovplace.placers.placeto.network import Placeto
from ovplace.placers.placeto.observation import PlacetoGraph

BATCH_ROWS = 8192
"""Nodes of encodings that go through the network together while it learns; 1,000 groups stay below 2 GB."""

REWARDS = ("difference", "log")


@dataclass(frozen=True)
class Lessons:
    """What is learned from episodes, and how fast.

    Attributes:
        reward: what is lowered: the `difference` of latencies, over that of the best single device, or of their `log`.
        final: give the whole reward at the last step, not at each.
        discount: of later rewards.
        window: batches of episodes whose mean return at a step is its baseline.
        normalise: divide advantages by their deviation.
        entropy: weight of the devices' entropy at the start.
        entropy_end: the same after `anneal` updates.
        learning_rate: of Adam at the start.
        learning_rate_end: the same after `anneal` updates.
        anneal: updates from the one to the other.
        max_grad_norm: longer gradients are shortened to this; 0 for no limit.
    """

    reward: str = "log"
    final: bool = False
    discount: float = 1.0
    window: int = 10
    normalise: bool = True
    entropy: float = 0.1
    entropy_end: float = 0.01
    learning_rate: float = 1e-3
    learning_rate_end: float = 1e-4
    anneal: int = 200
    max_grad_norm: float = 1.25

    def annealed(self, name: str, update: int) -> float:
        """Return the value of a setting that changes with the number of updates."""
        first, last = float(getattr(self, name)), float(getattr(self, f"{name}_end"))
        return first + min(1.0, update / self.anneal) * (last - first)

    def advantages(self, relative: FloatArray, marks: IntArray, history: list[list[float]]) -> FloatArray:
        """Return how much better than usual each step went, `[T, B]`.

        Args:
            relative: latency of what was visited over that of the best single device, `[C, B]`.
            marks: after how many steps that was.
            history: mean returns of earlier batches; those of this one are added.
        """
        worth = np.log(np.maximum(relative, 1e-12)) if self.reward == "log" else relative
        gained = returns(rewards(worth, marks, self.final), self.discount)
        advantage = gained - baseline(history, gained, self.window)[:, None]
        return np.asarray(advantage / (advantage.std() + 1e-4) if self.normalise else advantage)


class Learner:
    """A network with its optimiser (Adam, Kingma and Ba 2015)."""

    def __init__(self, network: Placeto, lessons: Lessons) -> None:
        """Start with a new optimiser."""
        self.network, self._lessons = network, lessons
        self.optimiser = torch.optim.Adam(network.parameters())

    def reinforce(self, graph: PlacetoGraph, episodes: Episodes, advantages: FloatArray, update: int) -> None:
        """Add the gradient of REINFORCE (Williams 1992): -log p times advantage - weight times entropy.

        Mean over the steps, sum over the episodes, as Placeto's workers are summed.

        Args:
            graph: what is placed.
            episodes: what was done.
            advantages: how much better than usual each step went, `[T, B]`.
            update: its number.
        """
        weight, action = torch.from_numpy(advantages).float(), torch.from_numpy(episodes.actions)
        entropy = self._lessons.annealed("entropy", update)
        for log_p, steps in self._again(graph, episodes):
            chosen = log_p.gather(2, action[steps][..., None])[..., 0]
            gain = (weight[steps] * chosen).sum() + entropy * _entropy(log_p)
            (-gain / len(action)).backward()  # type: ignore[no-untyped-call]

    def imitate(self, graph: PlacetoGraph, episodes: Episodes, device_of: IntArray) -> None:
        """Add the gradient of the cross-entropy to the devices `device_of` `[N]`, in the states that were visited.

        Mean over steps and episodes.
        """
        right = torch.from_numpy(device_of[episodes.groups])
        for log_p, steps in self._again(graph, episodes):
            best = right[steps][:, None, None].expand(-1, log_p.shape[1], 1)
            loss = -log_p.gather(2, best).clamp(min=-20.0).sum()  # a device that cannot run it has probability 0
            (loss / episodes.actions.size).backward()  # type: ignore[no-untyped-call]

    def step(self, update: int) -> None:
        """Descend the gradients added since the last step."""
        if self._lessons.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._lessons.max_grad_norm)
        for group in self.optimiser.param_groups:
            group["lr"] = self._lessons.annealed("learning_rate", update)
        self.optimiser.step()
        self.optimiser.zero_grad()

    def dump(self) -> str:
        """Return weights and optimiser as text."""
        return checkpoint.dump(self.network, self.optimiser)

    def restore(self, text: str) -> None:
        """Take over what `dump` returned."""
        checkpoint.restore(text, self.network, self.optimiser)

    def _again(self, graph: PlacetoGraph, episodes: Episodes) -> Iterator[tuple[Tensor, IntArray]]:
        """Yield log probabilities `[t, B, D]` of some steps, as the network has them now, and which steps `[t]`."""
        rows = episodes.encoded[0][..., 0].numel()
        size = max(1, BATCH_ROWS // max(rows, 1)) * episodes.block
        total, block = len(episodes.groups), episodes.block
        whole = total - total % block
        bounds = [*range(0, whole, size), whole, *([total] if whole < total else [])]
        for first, last in pairwise(bounds):
            steps, length = np.arange(first, last), min(block, last - first)
            encoded = torch.stack(episodes.encoded[first // block : -(-last // block)])
            context = context_of(self.network, graph, encoded, episodes.groups[steps].reshape(-1, length))
            allowed = torch.from_numpy(graph.allowed[episodes.groups[steps]])[:, None]
            yield self.network.log_p(context.flatten(0, 1), episodes.pairs[steps], allowed), steps


def _entropy(log_p: Tensor) -> Tensor:
    """Return the summed entropy of the devices, nats."""
    return -(log_p.exp() * log_p.clamp(min=-50.0)).sum()
