"""The smallest cut of a whole model that fails as a trial did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ovplace.commands.minimizing.delta_debugging import smallest_failing
from ovplace.commands.minimizing.oracle import Oracle
from ovplace.core.measurement import ErrorKind, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray
from ovplace.ir.legal.groups import legal_groups
from ovplace.session.events import Listener, Progress
from ovplace.session.outputs import error_limit
from ovplace.session.session import Session


@dataclass(frozen=True, eq=False)
class Cut:
    """A placement in which few groups are not on one device.

    Attributes:
        kind: how it fails.
        groups: the legal groups of the model.
        devices: names of the devices, `[D]`.
        home: index of the device of all other groups.
        choice: device of each group in the trial, `[G]`.
        moved: the groups that are where the trial had them.
    """

    kind: ErrorKind
    groups: Partition
    devices: tuple[str, ...]
    home: int
    choice: IntArray
    moved: tuple[int, ...]

    @property
    def placement(self) -> Placement:
        """The placement of all operations."""
        device_of = np.full(self.groups.n_groups, self.home)
        device_of[list(self.moved)] = self.choice[list(self.moved)]
        return self.groups.lift(device_of, self.devices)

    def with_moved(self, moved: Sequence[int]) -> Cut:
        """Return the cut in which other groups are where the trial had them."""
        return replace(self, moved=tuple(moved))

    def members(self, groups: Sequence[int]) -> list[int]:
        """Return the operations of some groups."""
        return [int(op) for group in groups for op in self.groups.members[group]]


def cut_of_trial(session: Session, oracle: Oracle, trial: Trial) -> Cut:
    """Return a failing trial as groups that are not on the device on which the model works.

    Args:
        session: the run.
        oracle: of its model; gets the limit of output errors.
        trial: with an error.

    Raises:
        PlacementError: the trial is of other devices or works now, or no device works alone.
    """
    names, kind, placement = session.problem.device_names, trial.measurement.error, trial.placement
    assert kind is not None
    used = placement.ops_per_device()
    if strange := sorted(set(placement.used) - set(names)):
        raise PlacementError(
            f"trial {trial.number} uses device '{strange[0]}', here are {', '.join(names)}; do this where it was run"
        )
    home = _home(session, oracle, used)
    if (now := oracle.failure(placement)) != kind:
        where, or_apart = (" by HETERO", ", or one in stages only,") if session.runs_stages else ("", "")
        raise PlacementError(
            f"trial {trial.number} failed ({kind}) and now {f'fails otherwise ({now})' if now else 'works'}{where}; "
            f"an intermittent failure{or_apart} cannot be reduced"
        )
    groups = legal_groups(session.graph)
    choice = groups.lower(placement.indices(names))
    return Cut(kind, groups, names, home, choice, tuple(np.flatnonzero(choice != home).tolist()))


def _home(session: Session, oracle: Oracle, used: Mapping[str, int]) -> int:
    """Return the index of the device that runs the whole model alone and has the most operations of those `used`.

    Sets the oracle's limit of output errors, which single devices decide.

    Raises:
        PlacementError: no device works alone.
    """
    names = session.problem.device_names
    alone = {name: Placement.uniform(len(session.graph), name, names) for name in names}
    measured = [oracle.measured(one) for one in alone.values()]
    oracle.limit = error_limit(session, measured)  # as in the run
    for name in sorted(names, key=lambda name: -used.get(name, 0)):
        if not oracle.failure(alone[name]):
            return names.index(name)
    raise PlacementError("no device runs the whole model alone, so it is not the cut that fails; see 'ovplace measure'")


def smallest_cut(cut: Cut, oracle: Oracle, listener: Listener) -> Cut:
    """Return the smallest part of a cut that fails in the same way.

    Args:
        cut: it fails.
        oracle: says what does.
        listener: is called with each step.
    """

    def fails(moved: Sequence[int]) -> bool:
        listener(
            Progress("minimize", oracle.runs, oracle.runs + max(0, oracle.budget), f"{len(moved)} groups elsewhere")
        )
        return oracle.fails(cut.with_moved(moved).placement, cut.kind)

    return cut.with_moved(smallest_failing(cut.moved, fails))
