"""What would run where, and why: HETERO's automatic mode, or a placement, without measuring anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np

from ovplace.commands.support import DeviceSupport, device_support
from ovplace.commands.temporary_session import placement_on_devices, temporary_session
from ovplace.config.schema import RunConfig
from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.op_kinds import FREE
from ovplace.graphs.submodels import running_submodels
from ovplace.session.events import Listener
from ovplace.session.session import Session
from ovplace.stages.stage import check_submodels


class Rule(StrEnum):
    """The rules by which operations get their devices."""

    ONE_DEVICE = "one device"
    AUTOMATIC = "HETERO's automatic mode"
    AFFINITIES = "affinities"


@dataclass(frozen=True)
class Explanation:
    """What would run where.

    Attributes:
        path: the model file.
        hash: content hash of the prepared model.
        operations: number of operations of the prepared model, Constants, Parameters and Results included.
        target: what would be compiled for, such as `HETERO:GPU,CPU`.
        rule: the rule by which operations get their devices.
        note: remark on the choice of devices; empty for none.
        devices: what each device supports, in the order of HETERO's priorities.
        ops_per_device: number of operations on each device.
        submodels: device of each submodel, in running order.
        cut_bytes: bytes that are copied between devices in one inference.
        refused: names of operations whose device says that it does not support them; compiling will fail.
        placement: device of each operation, by name.
        unusable: why HETERO cannot run it, apart from `refused`; empty where no reason is known.
        simulated: name of the simulated machine; empty for real devices.
    """

    path: str
    hash: str
    operations: int
    target: str
    rule: Rule
    note: str
    devices: tuple[DeviceSupport, ...]
    ops_per_device: Mapping[str, int]
    submodels: tuple[str, ...]
    cut_bytes: int
    refused: tuple[str, ...]
    placement: Mapping[str, str]
    unusable: str = ""
    simulated: str = ""

    def to_json(self) -> dict[str, object]:
        """Return what `ovplace explain --json` prints."""
        return asdict(self) | {"rule": self.rule.value}


def explain(config: RunConfig, table: Mapping[str, str] | None, listener: Listener) -> Explanation:
    """Explain what would run where; nothing is timed.

    Args:
        config: names the model and the devices.
        table: device of every operation of the prepared model; None to ask for OpenVINO's own rule.
        listener: is called with each step.

    Raises:
        OvplaceError: the model, a device or the placement is not usable.
    """
    with temporary_session(config, listener) as session:
        return _explained(session, table)


def _explained(session: Session, table: Mapping[str, str] | None) -> Explanation:
    problem, graph = session.problem, session.graph
    names = problem.device_names
    target = names[0] if len(names) == 1 else f"HETERO:{','.join(names)}"
    rule = Rule.AFFINITIES if table is not None else Rule.ONE_DEVICE if len(names) == 1 else Rule.AUTOMATIC
    placement = placement_on_devices(session, table) if table is not None else _automatic(session, target)
    able = problem.supported[np.arange(len(graph)), placement.indices(names)]
    computes = [kind not in FREE for kind in graph.types]
    return Explanation(
        path=session.config.search.model,
        hash=graph.content_hash,
        operations=len(graph),
        target=target,
        rule=rule,
        note=session.selection.note,
        devices=device_support(graph, session.devices, problem.supported),
        ops_per_device={name: 0 for name in names} | placement.ops_per_device(),
        submodels=tuple(placement.submodels(graph)),
        cut_bytes=placement.cut_bytes(graph),
        refused=tuple(graph.names[i] for i in np.flatnonzero(~able & np.array(computes, dtype=bool))),
        placement=placement.to_names(graph),
        unusable=_why_unusable(graph, placement),
        simulated=session.selection.simulated,
    )


def _why_unusable(graph: OpGraph, placement: Placement) -> str:
    if placement.is_uniform:  # compiled without HETERO
        return ""
    try:
        check_submodels(graph, running_submodels(graph, placement.device_of))
    except PlacementError as error:
        return str(error)
    return ""


def _automatic(session: Session, target: str) -> Placement:
    """Return what HETERO does by itself: each operation goes to the first device of the list that supports it.

    OpenVINO is asked, which knows what remains for a later device; where it does not answer, the rule is applied to
    what each device supports of the whole model.
    """
    names, supported = session.problem.device_names, session.problem.supported
    first = np.where(supported.any(axis=1), supported.argmax(axis=1), 0)
    asked: Mapping[str, str] = session.pool.ask("automatic", target) if len(names) > 1 else {}
    # The GPU plugin answers as GPU.0 where it was asked as GPU.
    position = {f"{name}.0": d for d, name in enumerate(names)} | {name: d for d, name in enumerate(names)}
    chosen = [position.get(asked.get(name, ""), first[i]) for i, name in enumerate(session.graph.names)]
    return Placement(np.array(chosen, dtype=np.int64), names)
