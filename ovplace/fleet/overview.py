"""What a fleet is doing: the values that its dashboard shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineState:
    """What a machine does.

    Attributes:
        name: of the machine.
        devices: labels of its devices.
        ovplace: version of ovplace there.
        openvino: version of OpenVINO there.
        search: whose request it runs; empty while it waits for one.
        operation: what the request asks for.
        running_s: seconds since it was given the request.
        answered: requests that it has answered.
        busy: share of the time since it joined in which it had a request, 0 to 1.
    """

    name: str
    devices: tuple[str, ...]
    ovplace: str
    openvino: str
    search: str
    operation: str
    running_s: float
    answered: int
    busy: float


@dataclass(frozen=True)
class SearchState:
    """What a search or a training waits for.

    Attributes:
        name: its name at the scheduler.
        title: what it says that it places or trains.
        running: requests that machines run.
        waiting: requests that wait for a machine.
        answered: requests that were answered.
        home: machine of its baselines and final comparison; empty if there is none yet.
        set_aside: machines that it asks for nothing more.
    """

    name: str
    title: str
    running: int
    waiting: int
    answered: int
    home: str
    set_aside: tuple[str, ...]


@dataclass(frozen=True)
class Overview:
    """What all machines and searches do.

    Attributes:
        up_s: seconds since the scheduler has started.
        machines: in the order in which they joined.
        searches: in the order in which they came.
    """

    up_s: float
    machines: tuple[MachineState, ...]
    searches: tuple[SearchState, ...]

    @property
    def busy(self) -> int:
        """Number of machines that have a request now."""
        return sum(bool(machine.search) for machine in self.machines)

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a machine."""
        return sum(search.waiting for search in self.searches)
