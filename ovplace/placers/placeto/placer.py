"""The placer `placeto`: learns from episodes on the cost model, and has the best placements measured."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.initialise import seeded
from ovplace.learning.policy_file import PolicyFile
from ovplace.learning.saved_state import from_saved
from ovplace.placers._base.log import Log
from ovplace.placers.placeto.candidate_queue import CandidateQueue, key
from ovplace.placers.placeto.config import Config
from ovplace.placers.placeto.environment import PlacetoEnvironment
from ovplace.placers.placeto.learner import PlacetoLearner
from ovplace.placers.placeto.network import Placeto
from ovplace.placers.placeto.rollout import Episodes, run_episodes
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

NAME = "placeto"

EXPLORATIONS = 20
"""Batches of episodes with increasing exploration rate before the space counts as exhausted."""


@dataclass
class PlacetoProgress:
    """State of the search apart from weights and the queue of candidates, as plain data.

    Attributes:
        settings: settings of the network, kept so that a policy file is read only once.
        zero_shot: zero-shot placement of a trained policy, `[G]`; empty without one.
        proposed: number of fixed proposals asked.
        open: placements asked for and not answered.
        remaining: placements to ask before the next update.
        updates: number of updates of the policy.
        batches: number of batches of episodes.
        history: mean returns of the last batches, `[T]` each.
        best: the fastest placement measured, `[G]`; empty before the first.
        best_ratio: its latency ratio.
        finished: whether the last search found nothing new.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    zero_shot: list[int] = field(default_factory=list)
    proposed: int = 0
    open: int = 0
    remaining: int = 0
    updates: int = 0
    batches: int = 0
    history: list[list[float]] = field(default_factory=list)
    best: list[int] = field(default_factory=list)
    best_ratio: float | None = None
    finished: bool = False


class Placer(protocols.Placer):
    """Learns from episodes on the cost model and proposes the best placements visited for measurement.

    It is asynchronous: rewards are those of the cost model, so that no episode waits for a measurement. Where it is
    asked while answers are open and a batch of proposals does not suffice, the policy is updated and proposes the next
    one. What answers change, where episodes start and which latencies are `measured`, follows from those it has.
    """

    @classmethod
    def needs_costs(cls, config: Config) -> bool:
        """Return True: episodes are evaluated by the cost model."""
        return True

    def __init__(self, problem: Problem, config: Config) -> None:
        """Prepare the episodes; the network is built at the first `ask` or taken from a state."""
        self._problem, self._environment, self._config = problem, PlacetoEnvironment(problem, config), config
        self._progress, self._queue = PlacetoProgress(), CandidateQueue()
        self._measured: dict[str, tuple[float, float | None]] = {}  # prediction and ratio by key; None for a failure
        self._log = Log("measured")
        self._weights = ""  # as text; empty if they have changed since they were last saved
        self._learner: PlacetoLearner | None = None

    @property
    def asynchronous(self) -> bool:
        """True: answers may come in any order, and late."""
        return True

    @property
    def info(self) -> dict[str, float]:
        """Updates of the policy, and batches of episodes."""
        return {"updates": self._progress.updates, "batches": self._progress.batches}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the fixed proposals first, then up to `n` of the best candidates, while waiting of several batches.

        Raises:
            UsageError: the policy file cannot be read or belongs to another placer.
        """
        if n <= 0:
            return []
        progress, learner = self._progress, self._started()
        is_waiting, asked = progress.open > 0, self._batch(n, learner)
        while is_waiting and len(asked) < n and (more := self._batch(n - len(asked), learner)):
            asked += more
        progress.open += len(asked)
        return [self._problem.lift(choice) for choice in asked]

    def tell(self, trials: Sequence[Trial]) -> None:
        """Record the fastest placement, where later episodes may start, and the latencies, if they are used."""
        progress = self._progress
        progress.open -= len(trials)
        for trial in trials:
            choice, ran = self._problem.lower(trial.placement), isfinite(trial.ratio)
            if self._config.measured:
                model_ms = float(self._environment.latency_ms(choice))
                self._note((key(choice), model_ms, trial.ratio if ran else None))
            if ran and (progress.best_ratio is None or trial.ratio < progress.best_ratio):
                progress.best, progress.best_ratio = choice.tolist(), trial.ratio

    def state(self) -> State:
        """Return weights and optimiser, the queue of candidates, and the progress."""
        if self._learner is not None and not self._weights:
            self._weights = self._learner.dump()
        progress = asdict(self._progress)
        return {"weights": self._weights, "progress": progress, **self._queue.state(), **self._log.state()}

    def restore(self, state: State) -> None:
        """Continue from `state`.

        Raises:
            StoreError: the state was saved by another version.
        """
        data = deepcopy(state)
        self._progress = from_saved(PlacetoProgress, data.get("progress", {}))
        self._queue = CandidateQueue.of(data)
        for row in Log.rows("measured", data):
            self._note(row)
        self._weights = data["weights"]
        if self._weights:
            self._learner = self._built()
            self._learner.restore(self._weights)

    def _note(self, row: Sequence[Any]) -> None:
        """Keep the key, the predicted latency and the ratio of a placement that was measured."""
        name, *values = row
        self._measured[name] = (values[0], values[1])
        self._log.add(row)

    # Proposals

    def _batch(self, n: int, learner: PlacetoLearner) -> list[IntArray]:
        """Return up to `n` fixed proposals, or of the best candidates once there are none left."""
        fixed = self._proposals()[self._progress.proposed :][:n]
        self._progress.proposed += len(fixed)
        for choice in fixed:
            self._queue.asked.add(key(choice))
        return fixed or self._found(n, learner)

    def _proposals(self) -> list[IntArray]:
        """Return the single devices and the zero-shot placement of a trained policy, without duplicates."""
        found = list(self._environment.uniform) if self._config.uniform else []
        if self._progress.zero_shot:
            found.append(np.array(self._progress.zero_shot))
        return list({key(choice): choice for choice in found}.values())

    def _found(self, n: int, learner: PlacetoLearner) -> list[IntArray]:
        """Return the best candidates; the policy is updated between two batches of proposals."""
        progress = self._progress
        if not progress.finished and (progress.remaining == 0 or not self._queue.waiting):
            self._search(learner)
            progress.remaining, progress.finished = self._config.proposals, not self._queue.waiting
        taken = self._queue.take(min(n, progress.remaining))
        progress.remaining -= len(taken)
        return taken

    def _search(self, learner: PlacetoLearner) -> None:
        """Learn from episodes; if they visit nothing new, continue with increasing exploration, without learning."""
        progress, environment = self._progress, self._environment
        for _ in range(self._config.updates):
            episodes, ms = self._played(learner)
            advantages = self._config.advantages(environment.relative(ms), episodes.marks, progress.history)
            learner.reinforce(environment.graph, episodes, advantages, progress.updates)
            learner.step(progress.updates)
            progress.updates += 1
        self._weights = ""
        for attempt in range(EXPLORATIONS):
            if not self._queue.waiting:
                self._played(learner, (attempt + 1) / EXPLORATIONS)

    def _played(self, learner: PlacetoLearner, exploration_rate: float = 0.0) -> tuple[Episodes, FloatArray]:
        """Run a batch of episodes, queue the new placements, and return the episodes and latencies, ms `[C, B]`."""
        rng = self._rng("episodes", self._progress.batches)
        self._progress.batches += 1
        episodes = run_episodes(
            learner.network, self._environment.graph, self._starts(rng), self._config, rng, exploration_rate
        )
        ms = self._expected_ms(episodes.visited)
        self._queue.add(episodes.visited.reshape(-1, self._problem.n_groups), ms.reshape(-1))
        return episodes, ms

    def _starts(self, rng: np.random.Generator) -> IntArray:
        """Return the initial placements of episodes, `[B, G]`."""
        environment, start, shape = (
            self._environment,
            self._config.start,
            (self._config.episodes, self._problem.n_groups),
        )
        random = (self._rng("start") if start == "fixed" else rng).integers(len(self._problem.devices), size=shape)
        best = np.array(self._progress.best) if self._progress.best else environment.best_uniform
        one = {"best": best, "first": environment.uniform[0], "fixed": random[0]}
        return environment.graph.repaired(np.tile(one[start], (shape[0], 1)) if start in one else random)

    def _expected_ms(self, choices: IntArray) -> FloatArray:
        """Return the latency of placements `[C, B, G]`, ms `[C, B]`: measured ones scaled to the model, else predicted.

        A failure counts as twice the highest prediction.
        """
        ms, measured = self._environment.latency_ms(choices), self._measured
        if not measured:
            return ms
        scales, highest = [model / ratio for model, ratio in measured.values() if ratio], float(ms.max())
        scale = np.median(scales) if scales else 1.0
        for at in np.ndindex(ms.shape):
            if found := measured.get(key(choices[at])):
                ms[at] = found[1] * scale if found[1] else 2 * highest
        return ms

    # Policy

    def _started(self) -> PlacetoLearner:
        """Return the learner; at the first call, build it or read its policy file."""
        if self._learner is None:
            policy = PolicyFile.read(self._config.policy, NAME) if self._config.policy else None
            config = policy.over(self._config) if policy else self._config
            self._progress.settings = dict(config.policy_settings)
            with policy.limiting() if policy else nullcontext():
                self._learner = self._built()
            if policy is not None:
                policy.into(self._learner.network)
                self._progress.zero_shot = self._environment.zero_shot_choice(self._learner.network).tolist()
        return self._learner

    def _built(self) -> PlacetoLearner:
        seed = int(self._rng("weights").integers(2**31))
        return new_learner(replace(self._config, **self._progress.settings), len(self._problem.devices), seed)

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", NAME, *path)


def new_learner(config: Config, n_devices: int, seed: int) -> PlacetoLearner:
    """Return a learner of a new network.

    Args:
        config: settings of the placer.
        n_devices: number of devices, used by the head `classes` only.
        seed: seed of the weights.
    """
    return PlacetoLearner(seeded(lambda: Placeto(config, n_devices), seed), config)
