"""Training of one policy on many problems with known costs.

Source: Placeto, arXiv 1906.08879, section 4, trains on families of graphs by REINFORCE; the imitation before it is not
published.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from ovplace.core.problem import Problem
from ovplace.errors import UsageError
from ovplace.graphs.op_graph import IntArray
from ovplace.placers.placeto.config import Config
from ovplace.placers.placeto.environment import PlacetoEnvironment
from ovplace.placers.placeto.placer import NAME, new_learner
from ovplace.placers.placeto.rollout import run_episodes
from ovplace.plugins import protocols
from ovplace.seeds import generator


class Trainer(protocols.Trainer):
    """Trains the policy with the head `devices`: imitation of the best known placement, then REINFORCE.

    Attributes:
        network: the policy.
        settings: values of `Config` stored in a policy file.
    """

    def __init__(self, config: Config, n_features: int, seed: int) -> None:
        """Start with random weights.

        Args:
            config: settings of the placer.
            n_features: columns of the problems' node features, which Placeto does not use.
            seed: root seed of weights and draws.

        Raises:
            UsageError: the shapes of the network would depend on the problem.
        """
        if config.head == "classes":
            raise UsageError("a policy with 'placer.head=classes' fits one set of devices; train 'placer.head=devices'")
        self._config, self._seed, self.settings = config, seed, config.policy_settings
        weights = generator(seed, "placer", NAME, "weights").integers(2**31)
        self._learner = new_learner(config, 1, int(weights))
        self.network = self._learner.network
        self._environments: WeakKeyDictionary[Problem, PlacetoEnvironment] = WeakKeyDictionary()

    def update(self, problems: Sequence[Problem], number: int) -> float:
        """Take one gradient step on problems with costs.

        Args:
            problems: the batch.
            number: index of the update.

        Returns:
            Mean of log(latency at the end of episodes / best known latency).
        """
        return self._step(problems, number, imitates=number < self._config.imitation)

    def reinforce(self, problems: Sequence[Problem], number: int) -> float:
        """Do as `update`, by REINFORCE alone."""
        return self._step(problems, number, imitates=False)

    def _step(self, problems: Sequence[Problem], number: int, *, imitates: bool) -> float:
        regrets = []
        for place, problem in enumerate(problems):
            at, rng = self._environment(problem), generator(self._seed, "placer", NAME, "train", number, place)
            episodes = run_episodes(self.network, at.graph, self._starts(at, rng), self._config, rng)
            ms = at.latency_ms(episodes.visited)
            regrets.append(float(np.log(ms[-1] / at.latency_ms(at.best_known)).mean()))
            if imitates:
                self._learner.imitate(at.graph, episodes, at.best_known)
            else:
                advantages = self._config.advantages(at.relative(ms), episodes.marks, [])
                self._learner.reinforce(at.graph, episodes, advantages, number)
        self._learner.step(number)
        return float(np.mean(regrets))

    def place(self, problem: Problem) -> IntArray:
        """Return the best placement visited in one greedy sweep from the best single device, `[G]`."""
        return self._environment(problem).zero_shot_choice(self.network)

    def dump(self) -> str:
        """Return weights and optimiser state as text."""
        return self._learner.dump()

    def restore(self, text: str) -> None:
        """Replace weights and optimiser state by those that `dump` returned."""
        self._learner.restore(text)

    def _environment(self, problem: Problem) -> PlacetoEnvironment:
        if problem not in self._environments:
            self._environments[problem] = PlacetoEnvironment(problem, self._config)
        return self._environments[problem]

    def _starts(self, environment: PlacetoEnvironment, rng: np.random.Generator) -> IntArray:
        """Return alternately the best single device, as in zero-shot use, and a random one, `[B, G]`."""
        count, uniform = self._config.episodes, environment.uniform
        drawn = uniform[rng.integers(len(uniform), size=count)]
        return np.where(np.arange(count)[:, None] % 2, drawn, environment.best_uniform)
