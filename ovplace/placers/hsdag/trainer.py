"""Training of one policy on many problems with known costs: imitation of solvers, then REINFORCE on the cost model.

Not in HSDAG, which learns a policy for one graph and machine by measuring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_known, best_of_with_uniform
from ovplace.errors import UsageError
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.initialise import seeded
from ovplace.learning.objectives import entropy_terms, surprisal
from ovplace.learning.optimiser import Optimiser
from ovplace.learning.sampling import sample_categorical
from ovplace.placers._base.cost_model import costs_of
from ovplace.placers.hsdag.config import Config
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph, n_columns
from ovplace.placers.hsdag.placer import NAME, input_graph
from ovplace.placers.hsdag.zero_shot import group_log_p, most_probable, zero_shot_choice
from ovplace.plugins import protocols
from ovplace.seeds import generator

SAMPLES = 32
"""Placements drawn per problem for the policy gradient."""

MAX_REGRET = 2.0
"""Limit on log(latency / best latency): the value of a placement that cannot run, and a bound on outliers."""

MAX_GRAD_NORM = 1.0
"""Limit on the norm of the gradient."""

IMITATION_UPDATES = 800
"""Updates by imitation alone; after twice as many, imitation and policy gradient have equal weights.

After the updates by imitation alone, the learning rate falls with the square root of the update.
"""

ENTROPY = 1e-3
"""Weight of the entropy of devices."""


@dataclass(frozen=True, eq=False)
class TrainingExample:
    """A problem with its best placement.

    Attributes:
        graph: input of the policy.
        best: device of each group in the best placement that the solvers find, `[G]`.
        log_ratio: function from placements `[B, G]` to log(latency / best latency), `[B]`.
    """

    graph: PolicyGraph
    best: IntArray
    log_ratio: Callable[[IntArray], FloatArray]

    @classmethod
    def of(cls, problem: Problem, config: Config) -> TrainingExample:
        """Solve a problem.

        Args:
            problem: the problem, with costs.
            config: settings of the placer, which define the input of the policy.

        Raises:
            PlacementError: the problem has no costs.
        """
        costs = costs_of(problem)
        best = best_known(costs)
        best_ms = float(latency_ms(costs, best[None])[0])
        return cls(input_graph(problem, config), best, lambda choices: np.log(latency_ms(costs, choices) / best_ms))


Loss = Callable[[Tensor, TrainingExample, int, np.random.Generator], Tensor]
"""Loss of a problem, from the log probabilities of devices `[G, D]`, the number of the update, and random numbers."""


class Trainer(protocols.Trainer):
    """Trains the policy with the head `devices`.

    The loss of a problem is first the cross-entropy to the best placement's devices. Later REINFORCE is added, with the
    mean of the samples as a baseline and an increasing weight. Sampling is free apart from the evaluation of the cost
    model, which is slow for the fragmented placements of an untrained policy.

    Attributes:
        network: the policy.
        settings: values of `Config` stored in a policy file.
    """

    def __init__(self, config: Config, n_features: int, seed: int) -> None:
        """Build the network.

        Args:
            config: settings of the placer.
            n_features: columns of the problems' node features.
            seed: root seed of weights and draws.

        Raises:
            UsageError: the shapes of the network would depend on the problem.
        """
        if config.head != "devices":
            raise UsageError(f"a policy for any machine needs placer.head = 'devices', got '{config.head}'")
        if not n_features:  # costs alone describe the nodes, also in a search, which may have features
            config = replace(config, described=False)
        self._config, self._seed, self.settings = config, seed, config.policy_settings
        inputs = n_columns(n_features, config.described)
        weights = int(generator(seed, "train", NAME, "weights").integers(2**31))
        self.network = seeded(lambda: HsdagPolicy(inputs, 0, config), weights)
        self._optimiser = Optimiser(self.network, config.learning_rate)
        self._examples: dict[Problem, TrainingExample] = {}

    def update(self, problems: Sequence[Problem], number: int) -> float:
        """Take one gradient step on the mean loss of problems with costs.

        Args:
            problems: the batch.
            number: index of the update.

        Returns:
            Mean of log(latency / best latency) of the most probable placements, each at most `MAX_REGRET`.
        """
        return self._step(problems, number, _loss)

    def reinforce(self, problems: Sequence[Problem], number: int) -> float:
        """Do as `update`, by REINFORCE alone: of the best known placement only the latency is used, as the unit."""
        return self._step(problems, number, lambda log_p, example, _, rng: reinforce_loss(log_p, example, rng))

    def _step(self, problems: Sequence[Problem], number: int, loss: Loss) -> float:
        rng = generator(self._seed, "train", NAME, "update", number)
        examples = [self._example(problem) for problem in problems]
        graph = PolicyGraph.union([example.graph for example in examples])
        log_p = group_log_p(self.network, graph)
        log_ratios, losses = [], []
        for example, own in zip(examples, torch.split(log_p, [len(e.best) for e in examples]), strict=True):
            choice = most_probable(own.detach())
            losses.append(loss(own, example, number, rng))
            log_ratios.append(min(float(example.log_ratio(choice[None])[0]), MAX_REGRET))
        torch.autograd.backward(torch.stack(losses).mean())
        rate = self._config.learning_rate / max(1.0, number / IMITATION_UPDATES) ** 0.5
        self._optimiser.step(MAX_GRAD_NORM, rate)
        return float(np.mean(log_ratios))

    def place(self, problem: Problem) -> IntArray:
        """Return the zero-shot placement, or the best single device if that is faster by the cost model, `[G]`."""
        graph = input_graph(problem, self._config)
        return best_of_with_uniform(costs_of(problem), [zero_shot_choice(self.network, graph)])

    def dump(self) -> str:
        """Return weights and optimiser state as text."""
        return self._optimiser.dump()

    def restore(self, text: str) -> None:
        """Replace weights and optimiser state by those that `dump` returned."""
        self._optimiser.restore(text)

    def _example(self, problem: Problem) -> TrainingExample:
        if problem not in self._examples:
            self._examples[problem] = TrainingExample.of(problem, self._config)
        return self._examples[problem]


def _loss(log_p: Tensor, example: TrainingExample, number: int, rng: np.random.Generator) -> Tensor:
    """Return the loss of one problem at an update: cross-entropy, later mixed with that of REINFORCE."""
    loss, weight = _cross_entropy(log_p, example.best), max(0.0, number / IMITATION_UPDATES - 1)
    if not weight:
        return loss
    return (loss + weight * reinforce_loss(log_p, example, rng)) / (1 + weight)


def reinforce_loss(
    log_p: Tensor, example: TrainingExample, rng: np.random.Generator, entropy: float = ENTROPY
) -> Tensor:
    """Return the loss of REINFORCE (Williams 1992) on placements drawn from the policy.

    Args:
        log_p: log probability of each device for each group, `[G, D]`.
        example: the problem.
        rng: the only source of randomness.
        entropy: weight of the entropy of devices.
    """
    p = log_p.detach().exp().numpy().astype(np.float64)
    drawn = sample_categorical(p, rng.random((SAMPLES, len(p))))
    cost = np.minimum(example.log_ratio(drawn), MAX_REGRET)
    advantage = torch.from_numpy(cost.mean() - cost).to(log_p.dtype)
    chosen = log_p[torch.arange(len(p)), torch.from_numpy(drawn)].sum(dim=1)
    return -(advantage * chosen).mean() - entropy * entropy_terms(log_p).sum(dim=1).mean()


def _cross_entropy(log_p: Tensor, best: IntArray) -> Tensor:
    return surprisal(log_p[torch.arange(len(best)), torch.from_numpy(best)]).mean()
