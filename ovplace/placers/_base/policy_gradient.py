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
from ovplace.placers._base.log import Seen
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
        controllers: batches that are measured at the same time. Each is drawn from the weights of its time, and its
            gradient is that of these weights, though other batches may have changed them since (asynchronous updates).
    """

    uniform: bool = True
    redraws: int = 20
    controllers: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if self.redraws < 0:
            raise ValueError(f"redraws must be at least 0, got {self.redraws}")
        if self.controllers < 1:
            raise ValueError(f"controllers must be at least 1, got {self.controllers}")
        if self.controllers > 1 and self.epochs > 1:
            raise ValueError(
                f"several controllers send one gradient for each batch: epochs must be 1, got {self.epochs}"
            )


@dataclass
class ControllerBatch:
    """The present batch of a controller, as plain data.

    Attributes:
        actions: its samples, `[K][A]`; empty before it is drawn.
        ratios: latency ratios of the first of them, infinite for failures.
        weights: those that it was drawn from, with the optimiser's state; empty where nothing else changes them.
        answered: samples of this controller answered so far, those of earlier batches included.
    """

    actions: list[list[int]] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    weights: str = ""
    answered: int = 0

    @property
    def complete(self) -> bool:
        """Whether all samples are answered."""
        return len(self.ratios) >= len(self.actions) > 0


@dataclass
class PolicyGradientProgress:
    """State of the search apart from the weights and the progress of training, as plain data.

    Attributes:
        proposed: number of single-device placements asked for so far.
        batches: the present batch of each controller.
        pending: the controller of each sample that the last `ask` returned.
    """

    proposed: int = 0
    batches: list[ControllerBatch] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)


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
        self._seen = Seen()
        self._progress.batches = [ControllerBatch() for _ in range(settings.controllers)]

    @property
    def info(self) -> dict[str, float]:
        """Figures of the search for its result: the number of updates of the policy."""
        return {"updates": self._learner.progress.updates}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return single-device placements first, then up to `n` of the rest of the present batches."""
        progress = self._progress
        progress.pending = []
        left = range(progress.proposed, len(self._problem.devices) if self._settings.uniform else 0)[: max(n, 0)]
        if left or n <= 0:
            progress.proposed += len(left)
            return [self._problem.lift(self._problem.uniform(device)) for device in left]
        for controller, batch in enumerate(progress.batches):
            if not batch.actions:
                batch.actions = self._new_batch(controller).tolist()
                batch.weights = self._weights if self._settings.controllers > 1 else ""
        asked = self._next(n)
        progress.pending = [controller for controller, _ in asked]
        return self._placements(np.array([actions for _, actions in asked]))

    def tell(self, trials: Sequence[Trial]) -> None:
        """Keep the answers, and update the policy by each batch that is complete."""
        progress = self._progress
        for trial in trials:
            self._seen.add(trial.placement.hash)
        for controller, trial in zip(progress.pending, trials, strict=False):
            progress.batches[controller].ratios.append(trial.ratio)
            progress.batches[controller].answered += 1
        for controller, batch in enumerate(progress.batches):
            if batch.complete:
                self._learner.learn(np.array(batch.actions), np.array(batch.ratios), batch.weights)
                self._weights = self._learner.dump()
                progress.batches[controller] = ControllerBatch(answered=batch.answered)

    def state(self) -> State:
        """Return the weights, optimiser and progress as of the last update, and the present batches."""
        batches = [asdict(batch) | {"ratios": finite_or_none(batch.ratios)} for batch in self._progress.batches]
        search = asdict(self._progress) | {"batches": batches}
        learner = asdict(self._learner.progress)
        return {"weights": self._weights, "learner": learner, "search": search, **self._seen.state()}

    def restore(self, state: State) -> None:
        """Continue from `state`.

        Raises:
            StoreError: the state was saved by another version.
        """
        data: Any = state
        self._progress = from_saved(PolicyGradientProgress, data.get("search", {}))
        saved: Any = self._progress.batches
        batches = [from_saved(ControllerBatch, batch | {"ratios": none_to_inf(batch["ratios"])}) for batch in saved]
        self._progress.batches = batches
        self._seen = Seen.of(state)
        self._learner.progress = from_saved(ReinforceProgress, data["learner"])
        self._weights = data["weights"]
        self._learner.restore(self._weights)

    def _next(self, n: int) -> list[tuple[int, list[int]]]:
        """Return up to `n` samples that are not answered, each with its controller; they take turns."""
        batches, asked = self._progress.batches, list[tuple[int, list[int]]]()
        rest = [list(batch.actions[len(batch.ratios) :]) for batch in batches]
        served = [batch.answered for batch in batches]
        while len(asked) < n and any(rest):
            controller = min((c for c, left in enumerate(rest) if left), key=lambda c: served[c])
            asked.append((controller, rest[controller].pop(0)))
            served[controller] += 1
        return asked

    def _new_batch(self, controller: int) -> IntArray:
        """Return a batch `[K, A]`; samples measured before, or in the batch twice, are drawn again."""
        actions = self._samples(np.arange(self._settings.samples), 0, controller)
        exhausted = len(self._seen) >= self._space
        for attempt in range(1, 0 if exhausted else self._settings.redraws + 1):
            repeated = self._repeats(actions)
            if not len(repeated):
                break
            actions[repeated] = self._samples(repeated, attempt, controller)
        return actions

    def _samples(self, numbers: IntArray, attempt: int, controller: int) -> IntArray:
        """Return the samples with these numbers in the batch, `[K, A]`; each attempt explores more."""
        update = self._learner.progress.updates
        path = ("placer", self._name, *(("controller", controller) if controller else ()), "sample", update)
        rngs = [generator(self._problem.seed, *path, int(k), attempt) for k in numbers]
        exploration_rate = attempt / max(self._settings.redraws, 1)
        return self._learner.policy.draw(rngs, update, np.full(len(rngs), exploration_rate))

    def _repeats(self, actions: IntArray) -> IntArray:
        """Return the indices of samples whose placement was measured, or is that of an earlier sample, `[R]`."""
        batch, found = set[str](), []
        for number, placement in enumerate(self._placements(actions)):
            if placement.hash in self._seen or placement.hash in batch:
                found.append(number)
            batch.add(placement.hash)
        return np.array(found, dtype=np.int64)

    def _placements(self, actions: IntArray) -> list[Placement]:
        return [self._problem.lift(choice) for choice in self._learner.policy.choices(actions)]
