"""HSDAG: encoder, parsing network and device choice learned together from measured latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf, isfinite, log
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_known, best_of_with_uniform, candidates
from ovplace.errors import UsageError
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.checkpoint import seeded
from ovplace.learning.policy_file import PolicyFile
from ovplace.placers._base.ranked import costs_of
from ovplace.placers.hsdag.config import PRESETS, Config
from ovplace.placers.hsdag.imitation_trainer import Apprentice, Course, Lesson, likeliest
from ovplace.placers.hsdag.learner import Learner, Update
from ovplace.placers.hsdag.policy import Policy, PolicyGraph
from ovplace.placers.hsdag.policy_graph import n_columns, policy_graph
from ovplace.placers.hsdag.reward import advantages, elite, rewards
from ovplace.placers.hsdag.rollout import Rollout, Rules
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

__all__ = ["FEATURES", "PRESETS", "SUMMARY", "Config", "Placer", "Trainer"]

NAME = "hsdag"

SUMMARY = "HSDAG (NeurIPS 2024): encodes, parses into groups and places them, learned end to end by REINFORCE"

FEATURES = ("op_type", "in_degree", "out_degree", "fractal_dimension", "position", "position_encoding", "output_shape")
"""What the nodes are described by where the user does not say: HSDAG, section 2.2."""


@dataclass
class _Memory:
    """What changes beside the weights, as plain data.

    Attributes:
        proposed: fixed proposals asked so far.
        updates: of the policy.
        ratios: answers to the steps of this buffer.
        mean: running mean of rewards; None before the first update.
        variance: running variance of them.
        worst: highest log ratio seen.
        groups: number of groups of the last step.
        redrawn: how often each step of this buffer was drawn anew.
        seen: hashes of the placements answered.
    """

    proposed: int = 0
    updates: int = 0
    ratios: list[float] = field(default_factory=list)
    mean: float | None = None
    variance: float = 0.0
    worst: float = 0.0
    groups: int = 0
    redrawn: list[int] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)


class Placer(protocols.Placer):
    """Draws `steps` placements, learns from what they took, and draws again.

    Source: Duan et al., "A structure-aware framework for learning device placements on computation graphs", NeurIPS
    2024, arXiv 2405.14185; `docs/explanation/systems/hsdag.md` has the formulas, and what differs.
    """

    @classmethod
    def needs_costs(cls, config: Config) -> bool:
        """Return whether the policy starts from the cost model, or describes groups by their costs."""
        return config.needs_costs

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the policy; with a cost model, let it imitate its optimum. A policy file is read when it is needed."""
        self._problem, self._config = problem, config
        self._memory, self._pending = _Memory(), 0
        self._learner: Learner
        if not config.policy:
            self._begin(config)
            self._proposals = self._uniform() + self._imitated()
            self._keep()

    @property
    def info(self) -> dict[str, float]:
        """Numbers about the search: groups of the last step, updates of the policy."""
        return {"groups": self._memory.groups, "updates": self._memory.updates}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the fixed proposals first, then up to `n` steps of the present episode.

        Raises:
            UsageError: the policy file cannot be read, or is of something else.
        """
        self._take_policy()
        left = self._proposals[self._memory.proposed :][:n]
        if left or n <= 0:
            self._memory.proposed += len(left)
            self._pending = 0
            return [self._problem.lift(choice) for choice in left]
        self._pending = min(n, self._config.steps - len(self._buffer.steps))
        return [self._problem.lift(self._draw()) for _ in range(self._pending)]

    def tell(self, trials: Sequence[Trial]) -> None:
        """Keep the answers, and learn when the episode is complete."""
        memory = self._memory
        memory.worst = max([memory.worst, *(log(trial.ratio) for trial in trials if isfinite(trial.ratio))])
        memory.seen += [trial.placement.hash for trial in trials]
        if not self._pending:
            return
        memory.ratios += [trial.ratio if isfinite(trial.ratio) else inf for trial in trials]
        if len(memory.ratios) >= self._config.steps:
            self._learn()

    def state(self) -> State:
        """Return weights and optimiser as of the buffer's start, how the steps since were drawn, and the rest."""
        self._take_policy()
        memory = asdict(self._memory)
        memory["ratios"] = [ratio if isfinite(ratio) else None for ratio in self._memory.ratios]
        state: dict[str, object] = {"weights": self._weights, "pending": self._pending, "memory": memory}
        if self._config.policy:
            state["policy"] = {"settings": dict(self._config.kept), "choice": self._proposals[-1].tolist()}
        return state

    def restore(self, state: State) -> None:
        """Go on from `state`: the steps since the last update are drawn again, which gives the same."""
        data: Any = state
        memory: dict[str, Any] = {
            name: list(value) if isinstance(value, list) else value for name, value in data["memory"].items()
        }
        memory["ratios"] = [inf if ratio is None else ratio for ratio in memory["ratios"]]
        self._memory = _Memory(**memory)
        if "policy" in data:
            self._begin(replace(self._config, **data["policy"]["settings"]))
            self._proposals = [*self._uniform(), np.array(data["policy"]["choice"], dtype=np.int64)]
        self._weights = data["weights"]
        self._learner.restore(self._weights)
        self._buffer = self._new_buffer()
        redrawn, self._memory.redrawn = self._memory.redrawn, []
        for count in redrawn:
            self._draw(count)
        self._pending = data["pending"]

    # Drawing

    def _draw(self, redraws: int | None = None) -> IntArray:
        """Draw the next step: anew, as often as is said, or until its placement is new."""
        memory, most = self._memory, self._config.redraws
        rng = self._rng("step", memory.updates, len(self._buffer.steps))
        choice, count = self._buffer.draw(self._learner.policy, rng), 0
        while count < redraws if redraws is not None else count < most and self._seen(choice):
            self._buffer.undo()
            count += 1
            choice = self._buffer.draw(self._learner.policy, rng, chance=count / most)
        memory.redrawn.append(count)
        memory.groups = len(self._buffer.steps[-1].devices)
        return choice

    def _seen(self, choice: IntArray) -> bool:
        return self._problem.lift(choice).hash in self._memory.seen

    def _new_buffer(self) -> Rollout:
        return Rollout(self._graph, self._owner, self._rules)

    def _uniform(self) -> list[IntArray]:
        n, devices = self._problem.n_groups, range(len(self._problem.devices))
        return [np.full(n, d, dtype=np.int64) for d in devices] if self._config.uniform else []

    # Learning

    def _learn(self) -> None:
        """Update the policy by the buffer, and begin a new episode."""
        config, memory = self._config, self._memory
        weights = self._weigh()
        done = min(1.0, memory.updates / config.anneal)
        update = Update(
            epochs=config.epochs,
            clip=config.clip,
            entropy=config.entropy + done * (config.entropy_end - config.entropy),
            max_grad_norm=config.max_grad_norm,
        )
        seed = int(self._rng("update", memory.updates).integers(2**31))
        self._learner.learn(self._graph, self._buffer.encodings, self._buffer.steps, weights, update, seed)
        memory.updates, memory.ratios, memory.redrawn = memory.updates + 1, [], []
        self._keep()

    def _weigh(self) -> FloatArray:
        """Return how much each step is learned from, `[K]`; with `inverse` and no baseline: HSDAG, equation 14."""
        config, memory = self._config, self._memory
        found = rewards(config.reward, memory.ratios, memory.worst)
        if config.baseline:
            found, memory.mean, memory.variance = advantages(found, memory.mean, memory.variance)
        if config.elites:
            found = elite(found, config.elites)
        return np.asarray(found * config.discount ** np.arange(1, len(found) + 1))

    # The beginning

    def _begin(self, config: Config) -> None:
        """Build the network that `config` describes, with new weights."""
        self._config = config
        self._graph, self._owner = _seen(self._problem, config)
        sizes = self._graph.features.shape[1], len(self._problem.devices)
        policy = seeded(lambda: Policy(*sizes, config), int(self._rng("weights").integers(2**31)))
        self._learner = Learner(policy, config.learning_rate, config.levels == 0)
        self._rules = Rules(config.grouping, config.levels, config.state_update, config.sampling_dropout)
        self._buffer = self._new_buffer()

    def _keep(self) -> None:
        """Begin a buffer with the weights as they are now."""
        self._weights, self._buffer = self._learner.dump(), self._new_buffer()

    def _take_policy(self) -> None:
        """Begin with the policy in the file, unless that is done, or the search goes on from a state."""
        if hasattr(self, "_learner"):
            return
        file = PolicyFile.read(self._config.policy, NAME)
        file.check_features(self._problem.features.shape[1])
        self._begin(file.over(self._config))
        file.into(self._learner.policy)
        self._proposals = [*self._uniform(), likeliest(self._learner.policy, self._graph, self._owner)]
        self._keep()

    def _imitated(self) -> list[IntArray]:
        """Teach the policy the optimum of the cost model, and return that."""
        costs = self._problem.costs
        if costs is None or not self._config.warm_start:
            return []
        best = candidates(costs)[:1]
        for choice in best:
            encoding = self._buffer.encoding(self._learner.policy, self._rng("imitation"))
            seed = int(self._rng("imitation", "dropout").integers(2**31))
            self._learner.imitate(self._graph, encoding, choice[self._owner], self._config.warm_start, seed)
        return best

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", NAME, *path)


class Trainer(Apprentice, protocols.Trainer):
    """Trains the policy on many problems, as `core/protocols.py` describes it; the head must be `devices`."""

    def __init__(self, config: Config, n_features: int, seed: int) -> None:
        """Build the network.

        Raises:
            UsageError: its shapes would depend on the problem.
        """
        if config.head != "devices":
            raise UsageError(f"a policy for any machine needs placer.head = 'devices', got '{config.head}'")
        self._config, self._seed, self.settings = config, seed, config.kept
        inputs = n_columns(n_features, config.described)
        weights = int(generator(seed, "train", NAME, "weights").integers(2**31))
        super().__init__(seeded(lambda: Policy(inputs, 0, config), weights), Course(config.learning_rate))
        self._lessons: dict[Problem, Lesson] = {}

    def update(self, problems: Sequence[Problem], number: int) -> float:
        """Take one step; return the mean logarithm of the latency of what the policy chooses over the best known."""
        rng = generator(self._seed, "train", NAME, "update", number)
        return self.learn([self._lesson(problem) for problem in problems], number, rng)

    def place(self, problem: Problem) -> IntArray:
        """Return the likeliest device of each group, one forward pass; or the best single device, if it costs less."""
        return best_of_with_uniform(costs_of(problem), [likeliest(self.network, *_seen(problem, self._config))])

    def _lesson(self, problem: Problem) -> Lesson:
        if problem not in self._lessons:
            self._lessons[problem] = _lesson(problem, self._config)
        return self._lessons[problem]


def _lesson(problem: Problem, config: Config) -> Lesson:
    costs = costs_of(problem)
    best = best_known(costs)
    least_ms = float(latency_ms(costs, best[None])[0])
    return Lesson(*_seen(problem, config), best, lambda choices: np.log(latency_ms(costs, choices) / least_ms))


def _seen(problem: Problem, config: Config) -> tuple[PolicyGraph, IntArray]:
    """Return what the policy sees of a problem, and the group of each node."""
    operations, aware = config.nodes == "operations", config.head == "devices"
    return policy_graph(problem, operations, config.cost_features, aware, config.described)
