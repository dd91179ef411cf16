"""Learner: gradients of Placeto's policy by REINFORCE or by imitation, and the optimiser step.

Source: Placeto, arXiv 1906.08879, section 3.1 (REINFORCE); imitation is not published.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.objectives import entropy_terms, surprisal
from ovplace.learning.optimiser import Optimiser
from ovplace.placers.placeto.network import Placeto
from ovplace.placers.placeto.observation import PlacetoGraph
from ovplace.placers.placeto.returns import LearningSettings
from ovplace.placers.placeto.rollout import Episodes, context_of

BATCH_ROWS = 8192
"""Nodes of encodings per batch of an update; 1,000 groups take less than 2 GB."""


class PlacetoLearner:
    """A policy with its optimiser.

    Attributes:
        network: the policy being learned.
    """

    def __init__(self, network: Placeto, settings: LearningSettings) -> None:
        """Start with a new optimiser.

        Args:
            network: the policy to learn.
            settings: settings of the optimiser and the entropy bonus.
        """
        self.network, self._settings = network, settings
        self._optimiser = Optimiser(network, settings.learning_rate)

    def reinforce(self, graph: PlacetoGraph, episodes: Episodes, advantages: FloatArray, update: int) -> None:
        """Add the gradient of REINFORCE (Williams 1992) with an entropy bonus.

        Mean, or sum with `summed`, over the steps; sum over the episodes, as Placeto sums over its workers.

        Args:
            graph: the groups placed.
            episodes: the episodes.
            advantages: advantage of each step, `[T, B]`.
            update: number of updates so far.
        """
        weight, action = torch.from_numpy(advantages).float(), torch.from_numpy(episodes.actions)
        entropy = self._settings.entropy_at(update)
        for log_p, steps in self._replayed(graph, episodes):
            chosen = log_p.gather(2, action[steps][..., None])[..., 0]
            gain = (weight[steps] * chosen).sum() + entropy * entropy_terms(log_p).sum()
            torch.autograd.backward(-gain / (1 if self._settings.summed else len(action)))

    def imitate(self, graph: PlacetoGraph, episodes: Episodes, device_of: IntArray) -> None:
        """Add the gradient of the cross-entropy to a placement in the visited states, mean over steps and episodes.

        Args:
            graph: the groups placed.
            episodes: the episodes.
            device_of: device of each group in the placement, `[N]`.
        """
        target = torch.from_numpy(device_of[episodes.groups])
        for log_p, steps in self._replayed(graph, episodes):
            best = target[steps][:, None, None].expand(-1, log_p.shape[1], 1)
            torch.autograd.backward(surprisal(log_p.gather(2, best)).sum() / episodes.actions.size)

    def step(self, update: int) -> None:
        """Apply the gradients added since the last step; `update` is the number of updates so far."""
        self._optimiser.step(self._settings.max_grad_norm, self._settings.learning_rate_at(update))

    def dump(self) -> str:
        """Return weights and optimiser state as text."""
        return self._optimiser.dump()

    def restore(self, text: str) -> None:
        """Replace weights and optimiser state by those that `dump` returned."""
        self._optimiser.restore(text)

    def _replayed(self, graph: PlacetoGraph, episodes: Episodes) -> Iterator[tuple[Tensor, IntArray]]:
        """Yield the present log probabilities `[t, B, D]` of batches of steps, and their indices `[t]`."""
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
