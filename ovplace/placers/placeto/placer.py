"""Placeto: a policy that improves a placement group by group, learned on the cost model, confirmed on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from math import inf, isfinite
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.move_costs import Moves
from ovplace.cost.solvers.portfolio import best_known
from ovplace.errors import UsageError
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning import checkpoint
from ovplace.learning.policy_file import PolicyFile
from ovplace.placers._base.ranked import costs_of
from ovplace.placers.placeto.candidate_queue import Pool, key
from ovplace.placers.placeto.episodes import Episodes, Rules, play
from ovplace.placers.placeto.learner import REWARDS, Learner, Lessons
from ovplace.placers.placeto.makespan import makespan_ms
from ovplace.placers.placeto.network import HEADS, Placeto, PlacetoSettings
from ovplace.placers.placeto.observation import PlacetoGraph
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.plugins.registry import fill
from ovplace.seeds import generator

SUMMARY = (
    "Placeto (NeurIPS 2019): improves a placement group by group, learned on the cost model, confirmed by measuring"
)

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "head": "classes", "rounds": 8, "encodings": 0, "evaluations": 0, "coherent": False, "start": "fixed",
        "reward": "difference", "normalise": False, "entropy": 1.0, "entropy_end": 0.0, "anneal": 500,
        "uniform": False, "updates": 1, "proposals": 1,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: as published, docs/explanation/systems/placeto.md has the gaps."""

STARTS = ("best", "first", "fixed", "varying")


@dataclass(frozen=True)
class Config(PlacetoSettings, Rules, Lessons):
    """Settings beside those of network, episodes and learning; those of a preset apply where nothing else is said.

    Attributes:
        preset: `paper` is the published method, `tuned` what does better.
        policy: path of a policy file to start from, whose network settings replace these; `shipped` is the one that
            comes with ovplace, empty starts with random weights.
        episodes: episodes side by side: Placeto's workers.
        start: episodes start from the `best` placement measured so far, from all on the `first` device, from a random
            `fixed` placement, or each from a `varying` one.
        updates: updates between two lots of proposals.
        proposals: placements of a lot: the best found and not yet measured.
        uniform: measure each device alone first.
        measured: where a placement was measured, that counts in episodes in place of the cost model.
        makespan: devices work side by side in the cost model, as in the paper; HETERO does not.
        memory_penalty: a placement counts so many times its latency more for each part of memory that it lacks.
        imitation: updates of `ovplace train` that imitate the optimum, before those that learn from rewards.
    """

    preset: str = "tuned"
    policy: str = ""
    episodes: int = 8
    start: str = "best"
    updates: int = 2
    proposals: int = 4
    uniform: bool = True
    measured: bool = False
    makespan: bool = False
    memory_penalty: float = 2.0
    imitation: int = 1000

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got '{getattr(self, name)}'")
        for f in fields(self):
            value, least = getattr(self, f.name), 1 if f.name in _AT_LEAST_ONE else 0
            if isinstance(value, int | float) and not least <= value < inf:
                raise ValueError(f"{f.name} must be at least {least}, got {value}")
        if self.discount > 1:
            raise ValueError(f"discount must be at most 1, got {self.discount}")
        if min(self.learning_rate, self.learning_rate_end) == 0:
            raise ValueError("learning_rate and learning_rate_end must be positive, got 0")


_CHOICES = {"preset": tuple(PRESETS), "head": HEADS, "start": STARTS, "reward": REWARDS}
_AT_LEAST_ONE = ("hidden", "rounds", "episodes", "sweeps", "window", "anneal", "updates", "proposals")

REDRAWS = 20
"""Batches of episodes with more and more chance in them before the space counts as exhausted."""


class _World:
    """A problem as Placeto's episodes see it: what the policy is shown, and what a placement is worth."""

    def __init__(self, problem: Problem, config: Config) -> None:
        self._table, self.config = costs_of(problem), config
        self.graph = PlacetoGraph.of(problem, self._table, Moves(self._table))
        alone = np.tile(np.arange(len(problem.devices))[:, None], problem.n_groups)
        self.uniform = self.graph.repaired(alone)
        alone_ms = self.latency_ms(self.uniform)
        self.best_uniform, self._unit_ms = self.uniform[alone_ms.argmin()], float(alone_ms.min()) or 1.0

    @cached_property
    def optimum(self) -> IntArray:
        """The best placement that the solvers find, `[G]`."""
        return self.graph.repaired(best_known(self._table))

    def latency_ms(self, choices: IntArray) -> FloatArray:
        """Return what placements `[..., G]` take, lack of memory punished, ms `[...]`."""
        table, flat = self._table, choices.reshape(-1, choices.shape[-1])
        simulate = makespan_ms(table, flat, self.graph.order) if self.config.makespan else latency_ms(table, flat)
        used = np.stack([(table.group_bytes * (flat == d)).sum(axis=1) for d in range(table.n_devices)], axis=1)
        lack = np.maximum(used / np.maximum(table.memory_bytes, 1.0) - 1.0, 0.0).sum(axis=1)
        return np.asarray(simulate * (1.0 + self.config.memory_penalty * lack)).reshape(choices.shape[:-1])

    def relative(self, ms: FloatArray) -> FloatArray:
        """Return latencies over that of the best single device."""
        return ms / self._unit_ms


@dataclass
class _Memory:
    """What changes beside the weights, as plain data.

    Attributes:
        settings: of the network: those of a policy file stay when the file is gone.
        zero_shot: what a trained policy proposes at once, `[G]`; empty without one.
        proposed: fixed proposals asked so far.
        lot: placements to ask until the next update.
        updates: of the policy.
        batches: of episodes played.
        history: mean returns of the last batches, `[T]` each.
        best: the best placement measured, `[G]`; empty before there is one.
        best_ratio: its ratio.
        answers: model's latency and ratio of each placement measured, by key, where these count; a failure has none.
        finished: whether nothing new was found.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    zero_shot: list[int] = field(default_factory=list)
    proposed: int = 0
    lot: int = 0
    updates: int = 0
    batches: int = 0
    history: list[list[float]] = field(default_factory=list)
    best: list[int] = field(default_factory=list)
    best_ratio: float | None = None
    answers: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    finished: bool = False


class Placer(protocols.Placer):
    """Plays episodes on the cost model, learns from them, and has the best placements they came by measured.

    Source: Addanki et al., "Learning generalizable device placement algorithms for distributed machine learning",
    NeurIPS 2019, arXiv 1906.08879; `docs/explanation/systems/placeto.md` has the formulas, and what differs.
    """

    @classmethod
    def needs_costs(cls, config: Config) -> bool:
        """Return that costs must be given."""
        return True

    def __init__(self, problem: Problem, config: Config) -> None:
        """See what there is to place; the network is built when it is first needed, or taken from a state."""
        self._problem, self._world, self._config = problem, _World(problem, config), config
        self._memory, self._pool = _Memory(), Pool()
        self._weights = ""  # as text, once asked for; empty where they changed since
        self._learner: Learner | None = None

    @property
    def info(self) -> dict[str, float]:
        """Numbers about the search: updates of the policy, batches of episodes."""
        return {"updates": self._memory.updates, "batches": self._memory.batches}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the fixed proposals first, then up to `n` of the best placements found and not yet asked."""
        if n <= 0:
            return []
        learner = self._started()
        fixed = self._proposals()[self._memory.proposed :][:n]
        self._memory.proposed += len(fixed)
        self._pool.asked += [key(choice) for choice in fixed]
        return [self._problem.lift(choice) for choice in fixed or self._found(n, learner)]

    def tell(self, trials: Sequence[Trial]) -> None:
        """Keep the best, from where later episodes start, and the answers, where they count."""
        memory = self._memory
        for trial in trials:
            choice, ran = self._problem.lower(trial.placement), isfinite(trial.ratio)
            if self._config.measured:
                memory.answers[key(choice)] = (float(self._world.latency_ms(choice)), trial.ratio if ran else None)
            if ran and (memory.best_ratio is None or trial.ratio < memory.best_ratio):
                memory.best, memory.best_ratio = choice.tolist(), trial.ratio

    def state(self) -> State:
        """Return weights and optimiser, the pool, and the rest."""
        if self._learner is not None and not self._weights:
            self._weights = self._learner.dump()
        return {"weights": self._weights, "pool": asdict(self._pool), "memory": asdict(self._memory)}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        data: Any = deepcopy(state)
        self._memory, self._weights = _Memory(**data["memory"]), data["weights"]
        self._pool = Pool([(ms, choice) for ms, choice in data["pool"]["waiting"]], data["pool"]["asked"])
        if self._weights:
            self._learner = self._built()
            self._learner.restore(self._weights)

    # What to ask

    def _proposals(self) -> list[IntArray]:
        """Return each device alone, and what a trained policy says; distinct."""
        found = list(self._world.uniform) if self._config.uniform else []
        if self._memory.zero_shot:
            found.append(np.array(self._memory.zero_shot))
        return list({key(choice): choice for choice in found}.values())

    def _found(self, n: int, learner: Learner) -> list[IntArray]:
        """Return the best of the pool; between two lots the policy learns."""
        memory = self._memory
        if not memory.finished and (memory.lot == 0 or not self._pool.waiting):
            self._search(learner)
            memory.lot, memory.finished = self._config.proposals, not self._pool.waiting
        taken = self._pool.take(min(n, memory.lot))
        memory.lot -= len(taken)
        return taken

    def _search(self, learner: Learner) -> None:
        """Learn from episodes; where they come by nothing new, play on with more and more chance, without learning."""
        memory, world = self._memory, self._world
        for _ in range(self._config.updates):
            episodes, ms = self._played(learner)
            advantages = self._config.advantages(world.relative(ms), episodes.marks, memory.history)
            learner.reinforce(world.graph, episodes, advantages, memory.updates)
            learner.step(memory.updates)
            memory.updates += 1
        self._weights = ""
        for attempt in range(REDRAWS):
            if not self._pool.waiting:
                self._played(learner, (attempt + 1) / REDRAWS)

    def _played(self, learner: Learner, chance: float = 0.0) -> tuple[Episodes, FloatArray]:
        """Play a batch of episodes, keep what is new, and return them and what was visited takes, `[C, B]`."""
        rng = self._rng("episodes", self._memory.batches)
        self._memory.batches += 1
        episodes = play(learner.network, self._world.graph, self._starts(rng), self._config, rng, chance)
        ms = self._believed_ms(episodes.visited)
        self._pool.add(episodes.visited.reshape(-1, self._problem.n_groups), ms.reshape(-1))
        return episodes, ms

    def _starts(self, rng: np.random.Generator) -> IntArray:
        """Return where episodes start, `[B, G]`."""
        world, start, shape = self._world, self._config.start, (self._config.episodes, self._problem.n_groups)
        random = (self._rng("start") if start == "fixed" else rng).integers(len(self._problem.devices), size=shape)
        best = np.array(self._memory.best) if self._memory.best else world.best_uniform
        one = {"best": best, "first": world.uniform[0], "fixed": random[0]}
        return world.graph.repaired(np.tile(one[start], (shape[0], 1)) if start in one else random)

    def _believed_ms(self, choices: IntArray) -> FloatArray:
        """Return the model's latency `[C, B]`, or what was measured where that counts; a failure is twice the worst."""
        ms, answers = self._world.latency_ms(choices), self._memory.answers
        scale, worst = [model / ratio for model, ratio in answers.values() if ratio], float(ms.max())
        for at in np.ndindex(ms.shape) if answers else ():
            found = answers.get(key(choices[at]))
            if found is not None:
                ms[at] = found[1] * np.median(scale) if found[1] else 2 * worst
        return ms

    # The network

    def _started(self) -> Learner:
        """Return the policy, at first a new one, or that of a file."""
        if self._learner is None:
            self._memory.settings, policy = _settings(self._config), None
            if self._config.policy:
                policy = PolicyFile.read(self._config.policy, "placeto")
                self._memory.settings = dict(policy.settings)
            self._learner = self._built()
            if policy is not None:
                policy.into(self._learner.network)
                self._memory.zero_shot = _swept(self._learner.network, self._world).tolist()
        return self._learner

    def _built(self) -> Learner:
        seed = int(self._rng("weights").integers(2**31))
        config = fill(Config, asdict(self._config) | self._memory.settings, "policy")
        return _learner(config, len(self._problem.devices), seed)

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", "placeto", *path)


def _learner(config: Config, n_devices: int, seed: int) -> Learner:
    return Learner(checkpoint.seeded(lambda: Placeto(config, n_devices), seed), config)


def _settings(config: Config) -> dict[str, object]:
    return {f.name: getattr(config, f.name) for f in fields(PlacetoSettings)}


def _swept(network: Placeto, world: _World) -> IntArray:
    """Return the best placement that one greedy sweep from the best single device comes by, `[G]`."""
    episodes = play(network, world.graph, world.best_uniform[None], replace(world.config, sweeps=1))
    return np.asarray(episodes.visited[world.latency_ms(episodes.visited)[:, 0].argmin(), 0])


class Trainer(protocols.Trainer):
    """Trains the policy on many problems: imitation of the optimum, then rewards.

    Attributes:
        network: the policy.
        settings: what a policy file has to keep.
    """

    def __init__(self, config: Config, n_features: int, seed: int) -> None:
        """Start with random weights.

        Args:
            config: the placer's settings.
            n_features: columns of the problems' node features, which Placeto does without.
            seed: of weights and draws.

        Raises:
            UsageError: the network would fit one number of devices only.
        """
        if config.head == "classes":
            raise UsageError("a policy with 'placer.head=classes' fits one set of devices; train 'placer.head=devices'")
        self._config, self._seed, self.settings = config, seed, _settings(config)
        weights = generator(seed, "placer", "placeto", "weights").integers(2**31)
        self._learner = _learner(config, 1, int(weights))
        self.network = self._learner.network
        self._worlds: WeakKeyDictionary[Problem, _World] = WeakKeyDictionary()

    def update(self, problems: Sequence[Problem], number: int) -> float:
        """Improve the policy by one gradient step; return the mean log of where episodes ended over the optimum."""
        regrets = []
        for place, problem in enumerate(problems):
            world, rng = self._world(problem), generator(self._seed, "placer", "placeto", "train", number, place)
            episodes = play(self.network, world.graph, self._starts(world, rng), self._config, rng)
            ms = world.latency_ms(episodes.visited)
            regrets.append(float(np.log(ms[-1] / world.latency_ms(world.optimum)).mean()))
            if number < self._config.imitation:
                self._learner.imitate(world.graph, episodes, world.optimum)
            else:
                advantages = self._config.advantages(world.relative(ms), episodes.marks, [])
                self._learner.reinforce(world.graph, episodes, advantages, number)
        self._learner.step(number)
        return float(np.mean(regrets))

    def place(self, problem: Problem) -> IntArray:
        """Return the best placement that one greedy sweep from the best single device comes by, `[G]`."""
        return _swept(self.network, self._world(problem))

    def dump(self) -> str:
        """Return weights and optimiser."""
        return self._learner.dump()

    def restore(self, text: str) -> None:
        """Take over what `dump` returned."""
        self._learner.restore(text)

    def _world(self, problem: Problem) -> _World:
        if problem not in self._worlds:
            self._worlds[problem] = _World(problem, self._config)
        return self._worlds[problem]

    def _starts(self, world: _World, rng: np.random.Generator) -> IntArray:
        """Return the best single device, where policies are used from, and any one in turns, `[B, G]`."""
        count = self._config.episodes
        drawn = world.uniform[rng.integers(len(world.uniform), size=count)]
        return np.where(np.arange(count)[:, None] % 2, drawn, world.best_uniform)
