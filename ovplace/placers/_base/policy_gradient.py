"""Base class of placers that sample placements from a policy and train it by policy gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.learning.reinforce import Reinforce, ReinforceProgress, ReinforceSettings, SampledPolicy
from ovplace.learning.saved_state import finite_or_none, from_saved, none_to_inf
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator


@dataclass(frozen=True)
class PolicyGradientSettings(ReinforceSettings):
    """Settings of a search that samples from a policy.

    Attributes:
        uniform: measure the placements on each single device first.
        redraws: how often a sample is drawn again when its placement was measured before, each time with more weight
            on the uniform distribution; 0 asks for it again, which is answered from the store.
    """

    uniform: bool = True
    redraws: int = 20

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if self.redraws < 0:
            raise ValueError(f"redraws must be at least 0, got {self.redraws}")


@dataclass
class PolicyGradientProgress:
    """State of the search apart from the weights and the progress of training, as plain data.

    Attributes:
        proposed: number of single-device placements asked for so far.
        actions: samples of the present batch, `[K][A]`; empty before it is drawn.
        ratios: latency ratios of the first samples of the batch, infinite for failures.
        pending: number of samples that the last `ask` returned.
        seen: hashes of the placements answered.
    """

    proposed: int = 0
    actions: list[list[int]] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    pending: int = 0
    seen: list[str] = field(default_factory=list)


class PolicyGradientPlacer(protocols.Placer):
    """Measures the placements on each single device, then batches of samples of a policy, which learns from each."""

    def __init__(self, problem: Problem, policy: SampledPolicy, settings: PolicyGradientSettings, name: str) -> None:
        """Start with an untrained policy.

        Args:
            problem: the problem to place.
            policy: the distribution over placements, ready to draw.
            settings: settings of the search and of its training.
            name: name of the placer, which keys its random streams.
        """
        self._problem, self._settings, self._name = problem, settings, name
        self._space = prod(problem.allowed.sum(axis=1).tolist())
        self._learner = Reinforce(policy, settings)
        self._progress, self._weights = PolicyGradientProgress(), self._learner.dump()

    @property
    def info(self) -> dict[str, float]:
        """Figures of the search for its result: the number of updates of the policy."""
        return {"updates": self._learner.progress.updates}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return single-device placements first, then up to `n` of the rest of the present batch."""
        progress = self._progress
        progress.pending = 0
        left = range(progress.proposed, len(self._problem.devices) if self._settings.uniform else 0)[: max(n, 0)]
        if left or n <= 0:
            progress.proposed += len(left)
            return [self._problem.lift(self._problem.uniform(device)) for device in left]
        if not progress.actions:
            progress.actions = self._new_batch().tolist()
        asked = progress.actions[len(progress.ratios) :][:n]
        progress.pending = len(asked)
        return self._placements(np.array(asked))

    def tell(self, trials: Sequence[Trial]) -> None:
        """Keep the answers, and update the policy when the batch is complete."""
        progress = self._progress
        progress.seen += [trial.placement.hash for trial in trials]
        if not progress.pending:
            return
        progress.ratios += [trial.ratio for trial in trials]
        if len(progress.ratios) >= len(progress.actions):
            self._learner.learn(np.array(progress.actions), np.array(progress.ratios))
            self._weights = self._learner.dump()
            progress.actions, progress.ratios = [], []

    def state(self) -> State:
        """Return the weights, optimiser and progress as of the last update, and the present batch."""
        search = asdict(self._progress) | {"ratios": finite_or_none(self._progress.ratios)}
        return {"weights": self._weights, "learner": asdict(self._learner.progress), "search": search}

    def restore(self, state: State) -> None:
        """Continue from `state`.

        Raises:
            StoreError: the state was saved by another version.
        """
        data: Any = state
        self._progress = from_saved(PolicyGradientProgress, data.get("search", {}))
        self._progress.ratios = none_to_inf(self._progress.ratios)
        self._learner.progress = from_saved(ReinforceProgress, data["learner"])
        self._weights = data["weights"]
        self._learner.restore(self._weights)

    def _new_batch(self) -> IntArray:
        """Return a batch `[K, A]`; samples measured before, or in the batch twice, are drawn again."""
        actions = self._samples(np.arange(self._settings.samples), 0)
        exhausted = len(set(self._progress.seen)) >= self._space
        for attempt in range(1, 0 if exhausted else self._settings.redraws + 1):
            repeated = self._repeats(actions)
            if not len(repeated):
                break
            actions[repeated] = self._samples(repeated, attempt)
        return actions

    def _samples(self, numbers: IntArray, attempt: int) -> IntArray:
        """Return the samples with these numbers in the batch, `[K, A]`; each attempt explores more."""
        update = self._learner.progress.updates
        rngs = [generator(self._problem.seed, "placer", self._name, "sample", update, int(k), attempt) for k in numbers]
        exploration_rate = attempt / max(self._settings.redraws, 1)
        return self._learner.policy.draw(rngs, update, np.full(len(rngs), exploration_rate))

    def _repeats(self, actions: IntArray) -> IntArray:
        """Return the indices of samples whose placement was measured, or is that of an earlier sample, `[R]`."""
        seen, found = set(self._progress.seen), []
        for number, placement in enumerate(self._placements(actions)):
            if placement.hash in seen:
                found.append(number)
            seen.add(placement.hash)
        return np.array(found, dtype=np.int64)

    def _placements(self, actions: IntArray) -> list[Placement]:
        return [self._problem.lift(choice) for choice in self._learner.policy.choices(actions)]
