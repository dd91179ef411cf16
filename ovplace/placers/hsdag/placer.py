"""The placer `hsdag`: draws placements from the policy, and updates it by their measured latency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.solvers.portfolio import candidates
from ovplace.graphs.op_graph import IntArray
from ovplace.learning.initialise import seeded
from ovplace.learning.optimiser import linear_schedule
from ovplace.learning.policy_file import PolicyFile
from ovplace.learning.saved_state import from_saved
from ovplace.placers._base.controllers import NOBODY, ControllerBatch, Controllers
from ovplace.placers._base.log import Seen
from ovplace.placers.hsdag.config import Config
from ovplace.placers.hsdag.episodes import Episode, Episodes
from ovplace.placers.hsdag.learner import HsdagLearner, UpdateSettings
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph, policy_graph
from ovplace.placers.hsdag.progress import HsdagProgress
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


class Placer(protocols.Placer):
    """Draws an episode of placements, updates the policy by their latency, and draws the next episode.

    It is asynchronous: no step depends on the latency of another one. Where it is asked while answers are open and the
    present episodes hold nothing more, another one is drawn from the present policy. An episode is learned from when
    all of its answers are there; its first gradient is that at the weights that it was drawn from, as with the
    asynchronous controllers of Mirhoseini et al., ICML 2017, and further `epochs` are at the present weights. The paper
    itself has one episode at a time, as this has with nothing open.
    """

    @classmethod
    def needs_costs(cls, config: Config) -> bool:
        """Return whether the search starts from the cost model, or the head uses it."""
        return config.warm_start > 0 or config.head == "devices" or bool(config.policy)

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the policy, and imitate the cost model's best placement if there is one.

        A policy file is read at the first `ask`.
        """
        self._problem, self._config = problem, config
        self._progress, self._built = HsdagProgress(), False
        self._seen, self._controllers = Seen(), Controllers([ControllerBatch()])
        self._costs = problem.costs.hash if problem.costs else ""
        if not config.policy:
            self._build(config)
            self._proposals = self._uniform() + self._imitated()
            self._weights = self._learner.dump()

    @property
    def asynchronous(self) -> bool:
        """True: other episodes are drawn while one waits for answers."""
        return True

    @property
    def ends(self) -> bool:
        """Whether the number of episodes is given: repeated placements are steps of them."""
        return self._config.episodes > 0

    @property
    def info(self) -> dict[str, float]:
        """Groups in the last step, and updates of the policy."""
        return {"groups": self._progress.groups, "updates": self._progress.updates}

    @property
    def notes(self) -> Sequence[str]:
        """A note on the device that rewards of `log_cpu` are relative to, where that is not the CPU."""
        if self._config.reward != "log_cpu" or not self._progress.updates:
            return ()
        device, relative = self._problem.devices[self._cpu], "placer.reward=log_cpu: rewards are relative to"
        if self._progress.cpu_ratio is None:
            return (f"{relative} the fastest single device, as {device.name} alone failed",)
        return () if device.base == "CPU" else (f"{relative} {device.name} alone, as there is no CPU",)

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the fixed proposals first, then up to `n` steps of the present episodes, or of further ones.

        Raises:
            UsageError: the policy file cannot be read or belongs to another placer.
        """
        self._read_policy()
        left = self._proposals[self._progress.proposed :][: max(n, 0)]
        if left or n <= 0:
            return self._fixed(left)
        is_waiting = bool(self._controllers.pending)
        self._begin(0)
        asked = self._next(n, is_waiting)
        while is_waiting and len(asked) < n and self._may_begin() and (joined := self._controllers.join()) is not None:
            self._begin(joined)
            asked += self._next(n - len(asked), is_waiting)
        return asked

    def tell(self, trials: Sequence[Trial]) -> None:
        """Record the latencies, and update the policy by each episode that is complete."""
        self._progress.note([trial.ratio for trial in trials])
        for trial in trials:
            self._seen.add(trial.placement.hash)
            if self._controllers.answer(trial.placement.hash, trial.ratio) == NOBODY:
                self._note_cpu(trial)
        for controller in self._controllers.complete():
            self._learn(controller)

    def state(self) -> State:
        """Return weights and optimiser, those that open episodes were drawn from, and the progress."""
        self._read_policy()
        state: dict[str, object] = {"weights": self._weights, "progress": asdict(self._progress), "costs": self._costs}
        state |= self._controllers.state() | self._seen.state()
        if self._config.policy:
            state["policy"] = {"settings": dict(self._config.policy_settings), "choice": self._proposals[-1].tolist()}
        return state

    def restore(self, state: State) -> None:
        """Continue from `state`; the steps of open episodes are drawn again from the same random numbers.

        Where a profile was completed meanwhile, they would be other placements: such episodes are dropped.

        Raises:
            StoreError: the state was saved by another version.
        """
        self._progress = from_saved(HsdagProgress, state.get("progress", {}))
        self._controllers, self._seen = Controllers.of(state), Seen.of(state)
        if state.get("costs", self._costs) != self._costs:
            self._controllers.drop()
        if "policy" in state:
            self._build(replace(self._config, **state["policy"]["settings"]))
            self._proposals = [*self._uniform(), np.array(state["policy"]["choice"], dtype=np.int64)]
        self._weights = state["weights"]
        for controller in self._controllers.begun:
            batch: Any = self._controllers.batches[controller]
            self._learner.restore(batch.weights or self._weights)
            self._episodes[controller] = Episode(self._new_rollout())
            self._episodes.draw_again(controller, batch.drawn)
        self._learner.restore(self._weights)

    # Asking

    def _fixed(self, choices: Sequence[IntArray]) -> list[Placement]:
        self._progress.proposed += len(choices)
        found = [self._problem.lift(choice) for choice in choices]
        self._controllers.ask_fixed(found)
        return found

    def _begin(self, controller: int) -> None:
        """Begin an episode, unless there is one, or all are begun."""
        batch = self._controllers.batches[controller]
        if not batch.size and self._may_begin():
            batch.size, self._episodes[controller] = self._config.steps, Episode(self._new_rollout())

    def _may_begin(self) -> bool:
        """Return whether another episode is left; one whose rewards are relative to the CPU waits for its latency."""
        begun = self._progress.updates + len(self._controllers.begun)
        waits = self._config.reward == "log_cpu" and self._controllers.waits_for_fixed
        return not waits and (not self._config.episodes or begun < self._config.episodes)

    def _next(self, n: int, is_waiting: bool) -> list[Placement]:
        """Return up to `n` steps of the present episodes that were not asked for; while waiting, none that is open."""
        found: list[Placement] = []
        while len(found) < n and (sample := self._controllers.next()) is not None:
            controller, number = sample
            self._draw_to(controller, number + 1, is_waiting=is_waiting)
            found.append(self._problem.lift(self._episodes[controller].choices[number]))
            self._controllers.pending.append((found[-1].hash, controller, number))
        return found

    def _open(self) -> set[str]:
        """Return the hashes of what is not answered, and of what is drawn to be asked for."""
        rest = [
            choice
            for controller, episode in self._episodes.items()
            for choice in episode.choices[len(self._controllers.batches[controller].ratios) :]
        ]
        return self._controllers.open.union(self._problem.lift(choice).hash for choice in rest)

    def _draw_to(self, controller: int, steps: int, *, is_waiting: bool) -> None:
        """Draw an episode up to a number of steps, each until its placement is new: while waiting, not open."""
        episode, drawn = self._episodes[controller], self._controllers.batches[controller].drawn
        is_known = self._drawn_again(is_waiting=is_waiting)
        while len(drawn) < steps:
            drawn.append(self._episodes.draw(controller, self._progress.updates, is_known))
            self._progress.groups = episode.n_groups

    def _drawn_again(self, *, is_waiting: bool) -> Callable[[str], bool]:
        """Return what says of the hash of a placement whether to draw another: none where there is nothing new."""
        if len(self._seen) >= self._problem.n_placements:
            return lambda _: False
        return self._is_known if is_waiting else self._seen.__contains__

    def _is_known(self, digest: str) -> bool:
        return digest in self._seen or digest in self._open()

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

    def _note_cpu(self, trial: Trial) -> None:
        alone = self._problem.lift(self._problem.uniform(self._cpu)).hash
        if trial.placement.hash == alone and isfinite(trial.ratio):
            self._progress.cpu_ratio = trial.ratio

    # Learning

    def _learn(self, controller: int) -> None:
        """Update the policy by an episode; the other ones are drawn to their ends with the weights that they have."""
        config, progress, rollout = self._config, self._progress, self._episodes.pop(controller).rollout
        for other in self._episodes:
            self._draw_to(other, config.steps, is_waiting=True)
        batch = self._controllers.finish(controller, self._weights)
        weights = progress.step_weights(config, batch.ratios)
        settings = UpdateSettings(
            epochs=config.epochs,
            clip=config.clip,
            entropy=linear_schedule(config.entropy, config.entropy_end, progress.updates, config.anneal),
            max_grad_norm=config.max_grad_norm,
        )
        seed = int(self._rng("update", progress.updates).integers(2**31))
        if config.learning_rate:
            self._learner.learn(rollout, weights, settings, seed, batch.weights)
        progress.updates += 1
        self._weights = self._learner.dump()

    # Initial policy

    def _build(self, config: Config) -> None:
        """Build the network with new weights."""
        self._config, self._built = config, True
        self._graph = input_graph(self._problem, config)
        sizes = self._graph.features.shape[1], len(self._problem.devices)
        policy = seeded(lambda: HsdagPolicy(*sizes, config), int(self._rng("weights").integers(2**31)))
        self._learner = HsdagLearner(policy, config.learning_rate)
        self._episodes = Episodes(self._problem, policy, self._rng, config.redraws)
        self._rollout_settings = RolloutSettings(
            config.grouping, config.levels, config.state_update, config.sampling_dropout
        )

    def _read_policy(self) -> None:
        """Start from the policy file, unless the network is built already."""
        if self._built:
            return
        file = PolicyFile.read(self._config.policy, NAME)
        file.check_features(self._problem)
        with file.limiting():
            self._build(file.over(self._config))
        file.into(self._learner.policy)
        self._proposals = [*self._uniform(), zero_shot_choice(self._learner.policy, self._graph)]
        self._weights = self._learner.dump()

    def _imitated(self) -> list[IntArray]:
        """Imitate the cost model's best placement, and return it as a proposal."""
        costs = self._problem.costs
        if costs is None or not self._config.warm_start:
            return []
        best = candidates(costs)[:1]
        for choice in best:
            encoding = self._new_rollout().encoding(self._learner.policy, self._rng("imitation"))
            seed = int(self._rng("imitation", "dropout").integers(2**31))
            self._learner.imitate(self._graph, encoding, choice[self._graph.group_of], self._config.warm_start, seed)
        return best

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", NAME, *path)
