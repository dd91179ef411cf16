"""The reasons of a placement: what each moved submodel saves under the cost model, and what the copies cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.cost.evaluate.terms import TERMS, CostTerm
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.report.evidence import Evidence, Placed
from ovplace.report.sections.boundaries import boundaries

MOST_GROUPS = 200
"""Groups that are listed."""


@dataclass(frozen=True)
class Step:
    """A step from the latency on one device to the answer's.

    Attributes:
        label: the term of the cost model.
        ms: what it adds; negative where it saves.
    """

    label: str
    ms: float


@dataclass(frozen=True)
class Move:
    """A submodel that left the device; several, where they share a group, whose time is known as a whole only.

    Attributes:
        submodels: their numbers in running order.
        device: where they run.
        operations: how many they have, Constants left out.
        before_ms: predicted time of its groups where they came from; None where one cannot run there.
        after_ms: predicted time of its groups where they run.
        copies_ms: predicted time of the copies into them and out of them.
    """

    submodels: tuple[int, ...]
    device: str
    operations: int
    before_ms: float | None
    after_ms: float
    copies_ms: float

    @property
    def saved_ms(self) -> float | None:
        """What the move saves, copies deducted; None where the submodels cannot run where they came from."""
        return None if self.before_ms is None else self.before_ms - self.after_ms - self.copies_ms


@dataclass(frozen=True)
class GroupMove:
    """A group of operations that left the device.

    Attributes:
        operations: names of its operations, Constants left out.
        device: where it runs.
        before_ms: predicted time where it came from; None where it cannot run there.
        after_ms: predicted time where it runs.
        saved_ms: their difference; None likewise.
    """

    operations: tuple[str, ...]
    device: str
    before_ms: float | None
    after_ms: float
    saved_ms: float | None


@dataclass(frozen=True)
class WhySection:
    """The reasons of a placement.

    Attributes:
        device: what the placement is compared with: everything on this device.
        device_ms: predicted latency of that.
        subject: the placement: the answer, or the best other one where the answer is a single device.
        subject_ms: predicted latency of the placement.
        steps: what makes the difference, by terms of the cost model.
        moves: the submodels that left the device.
        groups: the groups that left the device, `MOST_GROUPS` at most, those that change most first.
        source: origin of the costs.
    """

    device: str
    device_ms: float
    subject: str
    subject_ms: float
    steps: tuple[Step, ...]
    moves: tuple[Move, ...]
    groups: tuple[GroupMove, ...]
    source: str


def why_section(evidence: Evidence) -> WhySection | None:
    """Return the reasons; None where the run has no cost table, or the device cannot run everything."""
    costs, home = evidence.costs, _home(evidence)
    placed = evidence.other or evidence.answer
    if costs is None or placed.choice is None or home is None:
        return None
    uniform = costs.uniform(home)
    device_ms, subject_ms = latency_ms(costs, np.stack([uniform, placed.choice])).tolist()
    if not np.isfinite([device_ms, subject_ms]).all():
        return None
    return WhySection(
        device=evidence.label(evidence.run.devices[home]),
        device_ms=device_ms,
        subject=f"the best other placement ({evidence.found})" if evidence.other else "the answer",
        subject_ms=subject_ms,
        steps=tuple(_steps(costs, uniform, placed.choice)),
        moves=tuple(_moves(evidence, costs, placed, home)),
        groups=tuple(_groups(evidence, costs, placed.choice, home)),
        source=costs.source,
    )


def _home(evidence: Evidence) -> int | None:
    """Return the device to compare with: the verdict's, or the best single one."""
    names = [evidence.result.verdict.against, *(baseline.name for baseline in evidence.result.baselines)]
    return next((evidence.run.devices.index(name) for name in names if name in evidence.run.devices), None)


def _steps(costs: CostTable, uniform: IntArray, choice: IntArray) -> Iterator[Step]:
    for term in TERMS:
        before, after = term.latency_ms(costs, np.stack([uniform, choice])).tolist()
        if before != after:
            yield Step(term.label, after - before)


def _moves(evidence: Evidence, costs: CostTable, placed: Placed, home: int) -> Iterator[Move]:
    copies_ms = _copies_ms(evidence, costs, placed)
    constant, groups = evidence.run.graph.is_constant, evidence.run.partition.group_of
    for numbers in submodels_of_stages(placed, _stages(evidence, placed)):
        ops, device = np.concatenate([placed.submodels[number] for number in numbers]), placed.devices[numbers[0]]
        if device == home:
            continue
        moved = np.unique(groups[ops])
        before = float(costs.group_ms[moved, home].sum())
        yield Move(
            submodels=tuple(numbers),
            device=evidence.label(evidence.run.devices[device]),
            operations=int((~constant[ops]).sum()),
            before_ms=before if np.isfinite(before) else None,
            after_ms=float(costs.group_ms[moved, device].sum()),
            copies_ms=float(copies_ms[numbers].sum()),
        )


def _groups(evidence: Evidence, costs: CostTable, choice: IntArray, home: int) -> Iterator[GroupMove]:
    graph, members = evidence.run.graph, evidence.run.partition.members
    moved = np.flatnonzero(choice != home)
    before, after = costs.group_ms[moved, home], costs.group_ms[moved, choice[moved]]
    for at in np.argsort(-np.abs(before - after), kind="stable")[:MOST_GROUPS].tolist():
        runs = bool(np.isfinite(before[at]))
        yield GroupMove(
            operations=tuple(graph.names[op] for op in members[moved[at]] if graph.types[op] != "Constant"),
            device=evidence.label(evidence.run.devices[choice[moved[at]]]),
            before_ms=float(before[at]) if runs else None,
            after_ms=float(after[at]),
            saved_ms=float(before[at] - after[at]) if runs else None,
        )


def _copies_ms(evidence: Evidence, costs: CostTable, placed: Placed) -> FloatArray:
    """Return the time of all copies into and out of each submodel, `[M]`."""
    found = boundaries(evidence.run.graph, placed.device_of)
    submodel_of = np.zeros(len(placed.device_of), dtype=np.int64)
    for number, ops in enumerate(placed.submodels):
        submodel_of[ops] = number
    total = np.zeros(len(placed.submodels))
    for ops in (found.source, found.target):
        np.add.at(total, submodel_of[ops], found.ms(costs))
    return total


def stage_times(evidence: Evidence, costs: CostTable, placed: Placed) -> tuple[Stages, dict[str, FloatArray]]:
    """Return the stages of a placement, and the time of each by term of the cost model, ms `[S]` each.

    Args:
        evidence: the run.
        costs: its cost table.
        placed: the placement, which divides no group.
    """
    assert placed.choice is not None
    choice, stages = placed.choice, _stages(evidence, placed)
    return stages, {term.label: _stage_ms(term, costs, choice, stages) for term in TERMS}


def submodels_of_stages(placed: Placed, stages: Stages) -> list[list[int]]:
    """Return the numbers of the submodels of each stage of a placement.

    Args:
        placed: the placement.
        stages: its stages.
    """
    members: list[list[int]] = [[] for _ in stages.n_submodels]
    for number, stage in zip(placed.timed, stages.stage_of_submodel.tolist(), strict=True):
        members[stage].append(number)
    return members


def _stages(evidence: Evidence, placed: Placed) -> Stages:
    devices = tuple(Device(device.name, device.base) for device in evidence.result.devices)
    return Stages.of(evidence.run.graph, evidence.run.partition, placed.device_of, reader_shares(devices))


def _stage_ms(term: CostTerm, costs: CostTable, choice: IntArray, stages: Stages) -> FloatArray:
    total = np.zeros(len(stages.n_submodels))
    for name, counts in term.stage_counts(costs, choice, stages).items():
        array = getattr(costs, name)
        total += np.tensordot(counts, np.where(np.isfinite(array), array, 0.0), axes=array.ndim)
    return total
