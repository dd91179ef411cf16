"""Batches of samples that are measured at the same time, each by a controller of its own, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any

from ovplace.core.placement import Placement
from ovplace.learning.saved_state import finite_or_none, from_saved, none_to_inf

MOST_CONTROLLERS = 20
"""Controllers, those that join included: as many as Mirhoseini et al. 2017 have."""

NOBODY = -1
"""Controller of a placement that is in no batch."""

_DRAWN_FROM = "drawn from"


@dataclass
class ControllerBatch:
    """The present batch of a controller.

    Attributes:
        size: number of samples K; 0 before it is begun.
        drawn: those that are drawn, the first ones, in the placer's own form.
        ratios: latency ratios of those asked for, the first ones; infinite for failures, and until they are answered.
        weights: those that it was drawn from, with the optimiser's state; empty while they are the present ones.
        asked: samples of this controller asked for so far, those of earlier batches included.
    """

    size: int = 0
    drawn: list[list[int]] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    weights: str = ""
    asked: int = 0

    @property
    def has_rest(self) -> bool:
        """Whether there are samples that are not asked for yet."""
        return len(self.ratios) < self.size


@dataclass
class Controllers:
    """The present batch of each controller, and which samples wait for answers.

    Attributes:
        batches: by controller.
        pending: what is asked for and not answered, oldest first: hash of the placement, controller, and number in its
            batch; the controller of a placement that is in no batch is `NOBODY`.
    """

    batches: list[ControllerBatch] = field(default_factory=list)
    pending: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def open(self) -> set[str]:
        """Hashes of what is not answered."""
        return {digest for digest, *_ in self.pending}

    @property
    def begun(self) -> list[int]:
        """Controllers that have a batch."""
        return [number for number, batch in enumerate(self.batches) if batch.size]

    @property
    def waits_for_fixed(self) -> bool:
        """Whether a placement that is in no batch is not answered."""
        return any(controller == NOBODY for _, controller, _ in self.pending)

    def ask_fixed(self, placements: Iterable[Placement]) -> None:
        """Note that placements are asked for which are in no batch."""
        self.pending += [(placement.hash, NOBODY, 0) for placement in placements]

    def next(self) -> tuple[int, int] | None:
        """Return controller and number of the sample to ask for next, which counts as asked; controllers take turns.

        None where all were asked for.
        """
        left = [number for number, batch in enumerate(self.batches) if batch.has_rest]
        if not left:
            return None
        controller = min(left, key=lambda number: self.batches[number].asked)
        batch = self.batches[controller]
        batch.ratios.append(inf)
        batch.asked += 1
        return controller, len(batch.ratios) - 1

    def answer(self, digest: str, ratio: float) -> int:
        """Give an answer to the oldest that waits for it; return the controller, `NOBODY` if it is in no batch.

        Args:
            digest: hash of the placement.
            ratio: its latency ratio, infinite for a failure.
        """
        at = next((i for i, (name, *_) in enumerate(self.pending) if name == digest), None)
        if at is None:
            return NOBODY
        _, controller, number = self.pending.pop(at)
        if controller != NOBODY:
            self.batches[controller].ratios[number] = ratio
        return controller

    def complete(self) -> list[int]:
        """Return the controllers whose batches are answered."""
        waiting = {controller for _, controller, _ in self.pending}
        return [number for number in self.begun if number not in waiting and not self.batches[number].has_rest]

    def finish(self, controller: int, weights: str) -> ControllerBatch:
        """Return the batch of a controller, which then has none.

        Args:
            controller: one whose batch is answered.
            weights: the present ones, which are about to change: the other batches keep them.
        """
        batch = self.batches[controller]
        self.batches[controller] = ControllerBatch(asked=batch.asked)
        for number in self.begun:
            self.batches[number].weights = self.batches[number].weights or weights
        return batch

    def drop(self) -> None:
        """Forget the present batches; what is asked for and not answered is in none any more."""
        self.batches = [ControllerBatch(asked=batch.asked) for batch in self.batches]
        self.pending = [(digest, NOBODY, 0) for digest, *_ in self.pending]

    def join(self) -> int | None:
        """Return a controller without a batch, a new one if need be; None where there are too many."""
        for number, batch in enumerate(self.batches):
            if not batch.size:
                return number
        if len(self.batches) >= MOST_CONTROLLERS:
            return None
        self.batches.append(ControllerBatch())
        return len(self.batches) - 1

    def state(self) -> dict[str, object]:
        """Return plain data, the inverse of `of`; weights stand on their own, as the store keeps each text once."""
        batches = [asdict(batch) | {"ratios": finite_or_none(batch.ratios)} for batch in self.batches]
        weights = {f"{_DRAWN_FROM} {number}": batch.pop("weights") for number, batch in enumerate(batches)}
        return {"controllers": {"batches": batches, "pending": list(self.pending)}, **weights}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Controllers:
        """Return those of a state, which may hold more.

        Raises:
            StoreError: the state was saved by another version.
        """
        found = from_saved(cls, state.get("controllers", {}))
        saved: Any = found.batches
        for number, batch in enumerate(saved):
            values = {"ratios": none_to_inf(batch["ratios"]), "weights": state.get(f"{_DRAWN_FROM} {number}", "")}
            found.batches[number] = from_saved(ControllerBatch, batch | values)
        return found
