"""Base class of placers that sample placements from a policy and train it by policy gradients."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.core.text.json_text import parse_json
from ovplace.graphs.op_graph import IntArray
from ovplace.learning.initialise import seeded
from ovplace.learning.reinforce import Reinforce, ReinforceProgress, ReinforceSettings, SampledPolicy
from ovplace.learning.saved_state import finite_or_none, from_saved, none_to_inf
from ovplace.placers._base.controllers import MOST_CONTROLLERS, ControllerBatch, Controllers
from ovplace.placers._base.log import Seen
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

REPEATED = 20
"""Updates after which the weights are saved anew: those of the hierarchical planner are a text of 50 MB, and it updates
after every trial. A search that goes on repeats the updates since."""

WORTH = 10
"""The weights are saved anew as soon as their text is shorter than this many times that of the updates since, which is
stored after each of them."""


@dataclass(frozen=True)
class PolicyGradientSettings(ReinforceSettings):
    """Settings of a search that samples from a policy.

    Attributes:
        uniform: measure the placements on each single device first.
        redraws: how often a sample is drawn again when its placement was measured before, each time with more weight
            on the uniform distribution; 0 asks for it again, which is answered from the store.
        controllers: batches that are measured at the same time, at most 20. The first gradient of each is taken at the
            weights that it was drawn from, although other batches may have changed the weights since (asynchronous
            updates).
    """

    uniform: bool = True
    redraws: int = 20
    controllers: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if self.redraws < 0:
            raise ValueError(f"redraws must be at least 0, got {self.redraws}")
        if not 1 <= self.controllers <= MOST_CONTROLLERS:
            raise ValueError(f"controllers must be between 1 and {MOST_CONTROLLERS}, got {self.controllers}")


class PolicyGradientPlacer(protocols.Placer):
    """Measures the placements on each single device, then batches of samples of a policy, which learns from each.

    It is asynchronous. Where it is asked while answers are open and the present batches hold nothing more, another
    controller joins with a batch drawn from the present policy. A batch is learned from when all of its answers are
    there, by the gradient at the weights that it was drawn from, as the asynchronous controllers of Mirhoseini et al.,
    ICML 2017, do; further `epochs` are at the present weights. With nothing open, no controller joins.
    """

    def __init__(
        self, problem: Problem, build: Callable[[], SampledPolicy], settings: PolicyGradientSettings, name: str
    ) -> None:
        """Build the policy, whose weights follow from the problem's seed.

        Args:
            problem: the problem to place.
            build: constructs the distribution over placements, drawing weights from torch's global generator.
            settings: settings of the search and of its training.
            name: name of the placer, which keys its random streams.
        """
        self._problem, self._settings, self._name = problem, settings, name
        seed = int(generator(problem.seed, "placer", name, "weights").integers(2**31))
        self._learner = Reinforce(seeded(build, seed), settings)
        self._save_weights()
        self._seen, self._proposed = Seen(), 0
        self._controllers = Controllers([ControllerBatch() for _ in range(settings.controllers)])

    @property
    def asynchronous(self) -> bool:
        """True: other batches are drawn while one waits for answers."""
        return True

    @property
    def info(self) -> dict[str, float]:
        """Figures of the search for its result: the number of updates of the policy."""
        return {"updates": self._learner.progress.updates}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return single-device placements first, then up to `n` of the rest of the present batches.

        While answers are open, controllers join where these do not suffice.
        """
        left = range(self._proposed, len(self._problem.devices) if self._settings.uniform else 0)[: max(n, 0)]
        if left or n <= 0:
            return self._single_devices(left)
        is_waiting = bool(self._controllers.pending)
        for controller in range(self._settings.controllers):
            self._draw_batch(controller)
        asked = self._next(n)
        while is_waiting and len(asked) < n and (joined := self._controllers.join()) is not None:
            self._draw_batch(joined)
            asked += self._next(n - len(asked))
        return asked

    def tell(self, trials: Sequence[Trial]) -> None:
        """Keep the answers, and update the policy by each batch that is complete."""
        for trial in trials:
            self._seen.add(trial.placement.hash)
            self._controllers.answer(trial.placement.hash, trial.ratio)
        for controller in self._controllers.complete():
            self._learn_from(controller)

    def state(self) -> State:
        """Return the weights, optimiser and progress as they were saved, the updates since, and the present batches."""
        return {
            "weights": self._weights,
            "learner": self._progress,
            "updates since": self._since_text,
            "proposed": self._proposed,
            **self._controllers.state(),
            **self._seen.state(),
        }

    def restore(self, state: State) -> None:
        """Continue from `state`.

        Raises:
            StoreError: the state was saved by another version.
        """
        self._controllers, self._seen = Controllers.of(state), Seen.of(state)
        self._learner.progress = from_saved(ReinforceProgress, state["learner"])
        self._proposed = state["proposed"]
        self._learner.restore(state["weights"])
        self._save_weights()
        for drawn, ratios in parse_json(state.get("updates since", "[]")):
            self._learn(drawn, none_to_inf(ratios))

    def _learn_from(self, controller: int) -> None:
        """Update the policy by the batch of a controller."""
        others = len(self._controllers.begun) > 1  # they keep the weights that they were drawn from
        if others and self._since:
            self._save_weights()
        batch = self._controllers.finish(controller, self._weights)
        self._learn(batch.drawn, batch.ratios, batch.weights)
        is_long = WORTH * len(self._since_text) > len(self._weights)
        if others or batch.weights or len(self._since) >= REPEATED or is_long:
            self._save_weights()

    def _learn(self, drawn: list[list[int]], ratios: list[float], drawn_from: str = "") -> None:
        self._learner.learn(np.array(drawn), np.array(ratios), drawn_from)
        self._since.append([drawn, finite_or_none(ratios)])
        self._since_text = json.dumps(self._since)  # a text, as the store keeps each long one once

    def _save_weights(self) -> None:
        self._weights, self._progress = self._learner.dump(), asdict(self._learner.progress)
        self._since, self._since_text = list[object](), "[]"

    def _single_devices(self, numbers: Sequence[int]) -> list[Placement]:
        self._proposed += len(numbers)
        found = [self._problem.lift(self._problem.uniform(device)) for device in numbers]
        self._controllers.ask_fixed(found)
        return found

    def _next(self, n: int) -> list[Placement]:
        """Return up to `n` samples of the present batches that were not asked for."""
        controllers, taken = self._controllers, list[tuple[int, int]]()
        while len(taken) < n and (sample := controllers.next()) is not None:
            taken.append(sample)
        found = self._placements([controllers.batches[controller].drawn[number] for controller, number in taken])
        controllers.pending += [(placement.hash, *sample) for placement, sample in zip(found, taken, strict=True)]
        return found

    def _draw_batch(self, controller: int) -> None:
        """Draw a batch for a controller that has none."""
        batch = self._controllers.batches[controller]
        if not batch.size:
            batch.drawn, batch.size = self._new_batch(controller).tolist(), self._settings.samples

    def _new_batch(self, controller: int) -> IntArray:
        """Return a batch `[K, A]`; samples measured before, or in the batch twice, are drawn again."""
        actions = self._samples(np.arange(self._settings.samples), 0, controller)
        exhausted = len(self._seen) >= self._problem.n_placements
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
        """Return the indices of samples whose placement was measured, is open or that of an earlier sample, `[R]`."""
        batch, found = self._open(), list[int]()
        for number, placement in enumerate(self._placements(actions)):
            if placement.hash in self._seen or placement.hash in batch:
                found.append(number)
            batch.add(placement.hash)
        return np.array(found, dtype=np.int64)

    def _open(self) -> set[str]:
        """Return the hashes of what is not answered, and of what controllers that joined have yet to ask for."""
        joined = self._controllers.batches[self._settings.controllers :]
        rest = {p.hash for batch in joined for p in self._placements(batch.drawn[len(batch.ratios) :])}
        return rest | self._controllers.open

    def _placements(self, actions: Sequence[Sequence[int]] | IntArray) -> list[Placement]:
        choices = self._learner.policy.choices(np.array(actions)) if len(actions) else ()
        return [self._problem.lift(choice) for choice in choices]
