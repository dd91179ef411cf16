"""Learning one policy from many problems with known costs: first what solvers do, then what its own choices cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning import checkpoint
from ovplace.learning.sampling import by_probability
from ovplace.placers.hsdag.policy import Policy, PolicyGraph
from ovplace.placers.hsdag.rollout import said_of_owners

SAMPLES = 32
"""Placements drawn of each problem for the policy gradient."""

WORST = 2.0
"""Largest logarithm of latency over optimum: what cannot run counts that, and nothing drowns all else."""

EQUAL = 1e-3
"""Log probabilities that differ by less are equal."""

MAX_GRAD_NORM = 1.0


@dataclass(frozen=True, eq=False)
class Lesson:
    """One problem.

    Attributes:
        graph: what the policy sees.
        owner: which group each node belongs to, `[N]`.
        best: device of each group in the best placement known, `[G]`.
        over_best: from placements `[B, G]` to the logarithm of their latency over that of the best, `[B]`.
    """

    graph: PolicyGraph
    owner: IntArray
    best: IntArray
    over_best: Callable[[IntArray], FloatArray]


@dataclass(frozen=True)
class Course:
    """How to learn.

    Attributes:
        learning_rate: of Adam at first.
        imitation: updates that imitate alone; after twice as many the policy gradient counts as much. The rate falls
            with the root of the number from then on.
        entropy: weight of the entropy of devices.
    """

    learning_rate: float = 2e-3
    imitation: int = 800
    entropy: float = 1e-3


def likeliest(policy: Policy, graph: PolicyGraph, owner: IntArray) -> IntArray:
    """Return the likeliest device of each group, `[G]`: what a policy says at once."""
    with torch.no_grad():
        return _chosen(said_of_owners(policy, graph, owner))


def _chosen(log_p: Tensor) -> IntArray:
    """Return the likeliest device, the first of equals, from log probabilities `[G, D]`.

    Identical devices are equally likely but for rounding, which would tear the model between them: without this, a
    model of 49 groups took 4.5 times as long as need be on two identical devices.
    """
    near = log_p >= log_p.max(dim=1, keepdim=True).values - EQUAL
    return np.asarray(near.int().argmax(dim=1).numpy())


class Apprentice:
    """A policy that learns from lessons.

    First it imitates: the loss of a lesson is the cross-entropy of the best placement's devices. Then REINFORCE with
    the mean of the samples as a baseline joins in, with more and more weight. Samples cost nothing but the evaluation
    of the cost model, which takes long for the torn placements of a policy that knows nothing yet.
    """

    def __init__(self, policy: Policy, course: Course) -> None:
        """Start with a new optimiser (Adam, Kingma and Ba 2015)."""
        self.network, self._course = policy, course
        self.optimiser = torch.optim.Adam(policy.parameters(), lr=course.learning_rate)

    def learn(self, lessons: Sequence[Lesson], number: int, rng: np.random.Generator) -> float:
        """Take one step down the mean loss of the lessons; return the mean of `over_best` of the likeliest choices."""
        progress = number / self._course.imitation
        for group in self.optimiser.param_groups:
            group["lr"] = self._course.learning_rate / max(1.0, progress) ** 0.5
        graph = PolicyGraph.side_by_side([lesson.graph for lesson in lessons])
        assert graph.owner is not None
        self.optimiser.zero_grad()
        log_p = said_of_owners(self.network, graph, graph.owner)
        costs, losses, late = [], [], max(0.0, progress - 1)
        for lesson, own in zip(lessons, torch.split(log_p, [len(lesson.best) for lesson in lessons]), strict=True):
            loss = _cross_entropy(own, lesson.best)
            if late:
                loss = (loss + late * self._of_samples(own, lesson, rng)) / (1 + late)
            costs.append(min(float(lesson.over_best(_chosen(own.detach())[None])[0]), WORST))
            losses.append(loss)
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRAD_NORM)
        self.optimiser.step()
        return float(np.mean(costs))

    def dump(self) -> str:
        """Return weights and optimiser as text."""
        return checkpoint.dump(self.network, self.optimiser)

    def restore(self, text: str) -> None:
        """Take over what `dump` returned."""
        checkpoint.restore(text, self.network, self.optimiser)

    def _of_samples(self, log_p: Tensor, lesson: Lesson, rng: np.random.Generator) -> Tensor:
        """Return the loss of REINFORCE on placements drawn by `log_p` `[G, D]`."""
        p = log_p.detach().exp().numpy().astype(np.float64)
        drawn = by_probability(p, rng.random((SAMPLES, len(p))))
        cost = np.minimum(lesson.over_best(drawn), WORST)
        advantage = torch.from_numpy(cost.mean() - cost).to(log_p.dtype)
        chosen = log_p[torch.arange(len(p)), torch.from_numpy(drawn)].sum(dim=1)
        entropy = -(log_p.exp() * log_p.clamp(min=-50.0)).sum(dim=1).mean()
        return -(advantage * chosen).mean() - self._course.entropy * entropy


def _cross_entropy(log_p: Tensor, best: IntArray) -> Tensor:
    chosen = log_p[torch.arange(len(best)), torch.from_numpy(best)]
    return -chosen.clamp(min=-20.0).mean()
