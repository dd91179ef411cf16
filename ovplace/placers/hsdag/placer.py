"""The placer `hsdag`: draws placements from the policy, and updates it by their measured latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf, isfinite, log
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.solvers.portfolio import candidates
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.initialise import seeded
from ovplace.learning.optimiser import linear_schedule
from ovplace.learning.policy_file import PolicyFile
from ovplace.learning.saved_state import finite_or_none, from_saved, none_to_inf
from ovplace.placers._base.log import Seen
from ovplace.placers.hsdag.config import Config
from ovplace.placers.hsdag.learner import HsdagLearner, UpdateSettings
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph, policy_graph
from ovplace.placers.hsdag.rewards import (
    discounted_weights,
    normalised_advantages,
    step_rewards,
    top_fraction_weights,
)
from ovplace.placers.hsdag.rollout import Rollout, RolloutSettings
from ovplace.placers.hsdag.zero_shot import zero_shot_choice
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

NAME = "hsdag"


def input_graph(problem: Problem, config: Config) -> PolicyGraph:
    """Return the policy's input for a problem.

    Args:
        problem: the placement problem.
        config: settings of the placer.
    """
    return policy_graph(
        problem,
        nodes=config.nodes,
        costs=config.cost_features,
        device_aware=config.head == "devices",
        described=config.described,
    )


@dataclass
class HsdagProgress:
    """State of the search apart from weights, as plain data.

    Attributes:
        proposed: number of fixed proposals asked.
        updates: number of updates of the policy.
        ratios: latency ratios of the steps of this episode.
        mean: running mean of rewards; None before the first update.
        variance: running variance of rewards.
        max_log_ratio: highest log ratio seen, at least 0.
        cpu_ratio: latency ratio of the CPU alone; 1 before it is measured.
        groups: number of groups in the last step.
        redrawn: number of redraws of each step of this episode.
    """

    proposed: int = 0
    updates: int = 0
    ratios: list[float] = field(default_factory=list)
    mean: float | None = None
    variance: float = 0.0
    max_log_ratio: float = 0.0
    cpu_ratio: float = 1.0
    groups: int = 0
    redrawn: list[int] = field(default_factory=list)


class Placer(protocols.Placer):
    """Draws an episode of placements, updates the policy by their latency, and draws the next episode."""

    @classmethod
    def needs_costs(cls, config: Config) -> bool:
        """Return whether the search starts from the cost model, or the head uses it."""
        return config.warm_start > 0 or config.head == "devices" or bool(config.policy)

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the policy, and imitate the cost model's best placement if there is one.

        A policy file is read at the first `ask`.
        """
        self._problem, self._config = problem, config
        self._progress, self._pending, self._built = HsdagProgress(), 0, False
        self._seen = Seen()
        if not config.policy:
            self._build(config)
            self._proposals = self._uniform() + self._imitated()
            self._begin_episode()

    @property
    def ends(self) -> bool:
        """Whether the number of episodes is given: repeated placements are steps of them."""
        return self._config.episodes > 0

    @property
    def info(self) -> dict[str, float]:
        """Groups in the last step, and updates of the policy."""
        return {"groups": self._progress.groups, "updates": self._progress.updates}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the fixed proposals first, then up to `n` steps of the episode.

        Raises:
            UsageError: the policy file cannot be read or belongs to another placer.
        """
        self._read_policy()
        left = self._proposals[self._progress.proposed :][:n]
        if left or n <= 0 or self._is_over():
            self._progress.proposed += len(left)
            self._pending = 0
            return [self._problem.lift(choice) for choice in left]
        self._pending = min(n, self._config.steps - len(self._rollout.steps))
        return [self._problem.lift(self._draw()) for _ in range(self._pending)]

    def tell(self, trials: Sequence[Trial]) -> None:
        """Record the latencies, and update the policy when the episode is complete."""
        progress = self._progress
        progress.max_log_ratio = max(
            [progress.max_log_ratio, *(log(trial.ratio) for trial in trials if isfinite(trial.ratio))]
        )
        for trial in trials:
            self._seen.add(trial.placement.hash)
        if not self._pending:
            self._note_cpu(trials)
            return
        progress.ratios += [trial.ratio if isfinite(trial.ratio) else inf for trial in trials]
        if len(progress.ratios) >= self._config.steps:
            self._learn()

    def state(self) -> State:
        """Return weights and optimiser at the start of the episode, and the progress since."""
        self._read_policy()
        progress = asdict(self._progress) | {"ratios": finite_or_none(self._progress.ratios)}
        state = {"weights": self._weights, "pending": self._pending, "progress": progress, **self._seen.state()}
        if self._config.policy:
            state["policy"] = {"settings": dict(self._config.policy_settings), "choice": self._proposals[-1].tolist()}
        return state

    def restore(self, state: State) -> None:
        """Continue from `state`; the steps since the last update are drawn again from the same random numbers.

        Raises:
            StoreError: the state was saved by another version.
        """
        data: Any = state
        self._progress = from_saved(HsdagProgress, data.get("progress", {}))
        self._progress.ratios = none_to_inf(self._progress.ratios)
        self._seen = Seen.of(state)
        if "policy" in data:
            self._build(replace(self._config, **data["policy"]["settings"]))
            self._proposals = [*self._uniform(), np.array(data["policy"]["choice"], dtype=np.int64)]
        self._weights = data["weights"]
        self._learner.restore(self._weights)
        self._rollout = self._new_rollout()
        redrawn, self._progress.redrawn = self._progress.redrawn, []
        for count in redrawn:
            self._draw(count)
        self._pending = data["pending"]

    # Drawing

    def _draw(self, redraws: int | None = None) -> IntArray:
        """Draw the next step, with a given number of redraws, or until its placement is new, `[G]`."""
        progress, most = self._progress, self._config.redraws
        rng = self._rng("step", progress.updates, len(self._rollout.steps))
        choice, count = self._rollout.draw(self._learner.policy, rng), 0
        while count < redraws if redraws is not None else count < most and self._was_measured(choice):
            self._rollout.undo()
            count += 1
            choice = self._rollout.draw(self._learner.policy, rng, exploration_rate=count / most)
        progress.redrawn.append(count)
        progress.groups = len(self._rollout.steps[-1].devices)
        return choice

    def _was_measured(self, choice: IntArray) -> bool:
        return self._problem.lift(choice).hash in self._seen

    def _is_over(self) -> bool:
        return bool(self._config.episodes) and self._progress.updates >= self._config.episodes

    def _new_rollout(self) -> Rollout:
        return Rollout(self._graph, self._rollout_settings)

    def _uniform(self) -> list[IntArray]:
        devices = range(len(self._problem.devices)) if self._config.uniform else range(0)
        cpu = [self._cpu] if self._config.reward == "log_cpu" and not self._config.uniform else []
        return [self._problem.uniform(device) for device in [*devices, *cpu]]

    @property
    def _cpu(self) -> int:
        """Index of the CPU; of the last device where there is none."""
        bases = [device.base for device in self._problem.devices]
        return bases.index("CPU") if "CPU" in bases else len(bases) - 1

    def _note_cpu(self, trials: Sequence[Trial]) -> None:
        alone = self._problem.lift(self._problem.uniform(self._cpu)).hash
        measured = [trial.ratio for trial in trials if trial.placement.hash == alone and isfinite(trial.ratio)]
        self._progress.cpu_ratio = measured[-1] if measured else self._progress.cpu_ratio

    # Learning

    def _learn(self) -> None:
        """Update the policy by the episode, and begin the next."""
        config, progress = self._config, self._progress
        weights = self._step_weights()
        settings = UpdateSettings(
            epochs=config.epochs,
            clip=config.clip,
            entropy=linear_schedule(config.entropy, config.entropy_end, progress.updates, config.anneal),
            max_grad_norm=config.max_grad_norm,
        )
        seed = int(self._rng("update", progress.updates).integers(2**31))
        if config.learning_rate:
            self._learner.learn(self._graph, self._rollout.encodings, self._rollout.steps, weights, settings, seed)
        progress.updates, progress.ratios, progress.redrawn = progress.updates + 1, [], []
        self._begin_episode()

    def _step_weights(self) -> FloatArray:
        """Return the weight of each step in the update, `[K]`; equation 14 with `inverse` and no baseline."""
        config, progress = self._config, self._progress
        weights = step_rewards(config.reward, progress.ratios, progress.max_log_ratio, progress.cpu_ratio)
        if config.baseline:
            weights, progress.mean, progress.variance = normalised_advantages(weights, progress.mean, progress.variance)
        if config.top_fraction:
            weights = top_fraction_weights(weights, config.top_fraction)
        return discounted_weights(config.returns, weights, config.discount)

    # Initial policy

    def _build(self, config: Config) -> None:
        """Build the network with new weights."""
        self._config, self._built = config, True
        self._graph = input_graph(self._problem, config)
        sizes = self._graph.features.shape[1], len(self._problem.devices)
        policy = seeded(lambda: HsdagPolicy(*sizes, config), int(self._rng("weights").integers(2**31)))
        self._learner = HsdagLearner(policy, config.learning_rate, config.levels == 0)
        self._rollout_settings = RolloutSettings(
            config.grouping, config.levels, config.state_update, config.sampling_dropout
        )
        self._rollout = self._new_rollout()

    def _begin_episode(self) -> None:
        """Save the present weights, and start an empty rollout with them."""
        self._weights, self._rollout = self._learner.dump(), self._new_rollout()

    def _read_policy(self) -> None:
        """Start from the policy file, unless the network is built already."""
        if self._built:
            return
        file = PolicyFile.read(self._config.policy, NAME)
        file.check_features(self._problem.features.shape[1])
        self._build(file.over(self._config))
        file.into(self._learner.policy)
        self._proposals = [*self._uniform(), zero_shot_choice(self._learner.policy, self._graph)]
        self._begin_episode()

    def _imitated(self) -> list[IntArray]:
        """Imitate the cost model's best placement, and return it as a proposal."""
        costs = self._problem.costs
        if costs is None or not self._config.warm_start:
            return []
        best = candidates(costs)[:1]
        for choice in best:
            encoding = self._rollout.encoding(self._learner.policy, self._rng("imitation"))
            seed = int(self._rng("imitation", "dropout").integers(2**31))
            self._learner.imitate(self._graph, encoding, choice[self._graph.group_of], self._config.warm_start, seed)
        return best

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", NAME, *path)
