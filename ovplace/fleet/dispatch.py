"""Which machine measures what: requests wait for a machine of their class, and are given to another if it is lost."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ovplace.fleet.limits import MOST_REQUESTS
from ovplace.fleet.machine import DeviceClass, Machine
from ovplace.fleet.overview import MachineState, Overview, SearchState
from ovplace.fleet.wire import TRAIN

Send = Callable[[str, dict[str, Any]], None]
Clock = Callable[[], float]

ATTEMPTS = 3
"""Machines that a request may take down before it is answered as lost."""

PATIENCE_S = 15.0
"""Silence of a worker after which it is given up; it says every third of that, at least, that it is alive."""

STARTING_S = 900.0
"""Time that a request may take beyond its own deadline: a worker fetches the model and starts a process first."""


@dataclass
class Request:
    """An operation that a search asks for.

    Attributes:
        client: the search.
        number: its number there.
        device_class: machines that may run it.
        at_home: whether it runs on the one machine that all such requests of the search run on.
        body: job, operation, arguments and deadline, as the worker gets them.
        attempts: machines that were lost with it.
    """

    client: str
    number: int
    device_class: DeviceClass
    at_home: bool
    body: dict[str, Any]
    attempts: int = 0


@dataclass
class _Worker:
    machine: Machine
    heard_s: float
    joined_s: float
    request: Request | None = None
    given_s: float = 0.0
    jobs: set[tuple[str, str]] = field(default_factory=set)  # search and number of each job that it has worked for
    answered: int = 0
    busy_s: float = 0.0  # with requests that it has answered


@dataclass
class _Search:
    title: str = ""
    home: str = ""
    excluded: set[str] = field(default_factory=set)
    open: int = 0  # requests that are not answered
    answered: int = 0


class Dispatcher:
    """Assigns requests to machines, one at a time to each. Not thread-safe, and without any input or output."""

    def __init__(
        self,
        to_worker: Send,
        to_client: Send,
        patience_s: float = PATIENCE_S,
        clock: Clock = time.monotonic,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        """Begin without machines.

        Args:
            to_worker: sends a message to a machine, by its name.
            to_client: sends a message to a search.
            patience_s: silence after which a machine is given up, in seconds.
            clock: seconds, monotonic.
            most_requests: requests of one search that wait or run.
        """
        self._to_worker, self._to_client = to_worker, to_client
        self._patience_s, self._clock, self._most_requests = patience_s, clock, most_requests
        self._began_s = self._looked_s = clock()
        self._workers: dict[str, _Worker] = {}
        self._idle: dict[str, _Worker] = {}
        self._queue: deque[Request] = deque()
        self._searches: dict[str, _Search] = {}

    @property
    def machines(self) -> list[Machine]:
        """The machines that are there."""
        return [worker.machine for worker in self._workers.values()]

    def join(self, machine: Machine) -> None:
        """Take a machine in, whose name no other has, and give it a request that waits for it."""
        now = self._clock()
        worker = self._workers[machine.name] = self._idle[machine.name] = _Worker(machine, heard_s=now, joined_s=now)
        self._tell_all({"op": "joined", "machine": machine.to_dict()})
        self._give_next(machine.name, worker)

    def leave(self, name: str) -> None:
        """Let a machine go; what it was running is run elsewhere."""
        worker = self._workers.pop(name, None)
        if worker is None:
            return
        self._idle.pop(name, None)
        for search in self._searches.values():
            search.home = "" if search.home == name else search.home
        self._tell_all({"op": "left", "name": name})
        request = worker.request
        if _is_training(request):
            self._tell_all(self._training())
        if request is not None and request.client in self._searches:  # that search is there
            request.attempts += 1
            if request.attempts >= ATTEMPTS:
                text = f"{request.attempts} machines were lost while they ran it, the last one was '{name}'"
                self._answer(request, {"lost": text, "worker": name})
            else:
                self._assign(request, first=True)
        self._give_waiting()  # searches that had their home there may have another one

    def heard(self, name: str) -> None:
        """Note that a machine is alive."""
        if worker := self._workers.get(name):
            worker.heard_s = self._clock()

    def silent(self) -> list[str]:
        """Return the machines to be given up: those that say nothing, or run a request long after its deadline.

        It is called several times in `patience_s`. If it was not, this process was stopped, as by Ctrl-Z, and could not
        hear anybody; an answer may wait to be read.
        """
        now = self._clock()
        away_s, self._looked_s = now - self._looked_s, now
        if away_s > self._patience_s:
            for worker in self._workers.values():
                worker.heard_s = now
                worker.given_s += away_s
        return [
            name
            for name, worker in self._workers.items()
            if now - worker.heard_s > self._patience_s or _late(worker, now)
        ]

    def say_alive(self) -> None:
        """Tell searches that the scheduler is there: an answer that they wait for may take long."""
        self._tell_all({"op": "alive"})

    def enter(self, client: str) -> None:
        """Take a search in, and tell it the machines, and which of them train."""
        self._searches[client] = _Search()
        self._to_client(client, {"op": "machines", "machines": [machine.to_dict() for machine in self.machines]})
        self._to_client(client, self._training())

    def name(self, client: str, title: str) -> None:
        """Note what a search says that it does.

        Args:
            client: the search.
            title: its words.
        """
        self._searches[client].title = title

    def drop(self, client: str) -> None:
        """Let a search go: what it waits for is dropped, and machines end what they keep for it."""
        self._queue = deque(request for request in self._queue if request.client != client)
        self._searches.pop(client, None)
        for name, worker in list(self._workers.items()):
            for job in sorted(job for search, job in worker.jobs if search == client):
                worker.jobs.discard((client, job))
                self._to_worker(name, {"op": "forget", "job": job})

    def forget(self, client: str, job: str) -> None:
        """Let machines end what they keep for a job.

        Args:
            client: the search.
            job: number of the job.
        """
        for name, worker in self._workers.items():
            if (client, job) in worker.jobs:
                worker.jobs.discard((client, job))
                self._to_worker(name, {"op": "forget", "job": job})

    def exclude(self, client: str, name: str) -> None:
        """Give a machine no more requests of a search.

        Args:
            client: the search.
            name: of the machine.
        """
        if search := self._searches.get(client):
            search.excluded.add(name)
            search.home = "" if search.home == name else search.home
            self._give_waiting()

    def submit(self, request: Request) -> None:
        """Give a request to a machine, or let it wait for one; refuse it where the search has too many already."""
        search = self._searches.get(request.client)
        if search is None:
            return
        if search.open >= self._most_requests:
            why = f"{self._most_requests} requests of this search are not answered yet, and the scheduler takes no more"
            self._to_client(request.client, {"op": "refused", "number": request.number, "why": why})
            return
        search.open += 1
        self._assign(request, first=request.at_home)

    def done(self, name: str, number: int, client: str, answer: dict[str, Any]) -> None:
        """Pass an answer on, unless the request was given to another machine meanwhile, and give the machine the next.

        Args:
            name: of the machine.
            number: of the request.
            client: the search.
            answer: `value` or `error`.
        """
        worker = self._workers.get(name)
        if (
            worker is None
            or worker.request is None
            or (worker.request.client, worker.request.number) != (client, number)
        ):
            return
        request, worker.request = worker.request, None
        worker.answered += 1
        worker.busy_s += self._clock() - worker.given_s
        self._answer(request, {**answer, "worker": name})
        if _is_training(request):
            self._tell_all(self._training())
        self._idle[name] = worker
        self._give_next(name, worker)

    def overview(self) -> Overview:
        """Return what all machines and searches do now."""
        now = self._clock()
        running = Counter(worker.request.client for worker in self._workers.values() if worker.request)
        machines = tuple(_state_of(worker, now) for worker in self._workers.values())
        searches = tuple(
            SearchState(
                name, of.title, running[name], of.open - running[name], of.answered, of.home, tuple(sorted(of.excluded))
            )
            for name, of in self._searches.items()
        )
        return Overview(now - self._began_s, machines, searches)

    def _answer(self, request: Request, answer: dict[str, Any]) -> None:
        if search := self._searches.get(request.client):
            search.open -= 1
            search.answered += 1
            self._to_client(request.client, {"op": "done", "number": request.number, **answer})

    def _assign(self, request: Request, *, first: bool) -> None:
        name = next((name for name, worker in self._idle.items() if self._suits(request, worker.machine)), None)
        if name is not None:
            self._give(name, self._idle[name], request)
        elif first:
            self._queue.appendleft(request)
        else:
            self._queue.append(request)

    def _give_waiting(self) -> None:
        for name, worker in list(self._idle.items()):
            self._give_next(name, worker)

    def _give_next(self, name: str, worker: _Worker) -> None:
        for position, request in enumerate(self._queue):
            if self._suits(request, worker.machine):
                del self._queue[position]
                self._give(name, worker, request)
                return

    def _give(self, name: str, worker: _Worker, request: Request) -> None:
        del self._idle[name]
        worker.request, worker.given_s = request, self._clock()
        worker.jobs.add((request.client, str(request.body["job"]["number"])))
        if request.at_home:
            self._searches[request.client].home = name
        self._to_worker(name, {"op": "run", "number": request.number, "client": request.client, **request.body})
        if _is_training(request):
            self._tell_all(self._training())

    def _suits(self, request: Request, machine: Machine) -> bool:
        search = self._searches[request.client]
        if machine.name in search.excluded:
            return False
        at_home = not request.at_home or search.home in ("", machine.name) or self._trains(search.home)
        return at_home and request.device_class.has(machine)

    def _trains(self, name: str) -> bool:
        """Return whether a machine runs a training, which may take hours."""
        return _is_training(self._workers[name].request)

    def _training(self) -> dict[str, Any]:
        """Return what tells a search which machines train."""
        return {"op": "training", "names": list(filter(self._trains, self._workers))}

    def _tell_all(self, message: dict[str, Any]) -> None:
        for client in self._searches:
            self._to_client(client, message)


def _state_of(worker: _Worker, now_s: float) -> MachineState:
    request, machine = worker.request, worker.machine
    running_s = now_s - worker.given_s if request else 0.0
    there_s = now_s - worker.joined_s
    return MachineState(
        machine.name,
        tuple(device.label for device in machine.devices),
        machine.versions.get("ovplace", ""),
        machine.versions.get("openvino", ""),
        request.client if request else "",
        str(request.body["method"]) if request else "",
        running_s,
        worker.answered,
        (worker.busy_s + running_s) / there_s if there_s > 0 else 0.0,
    )


def _is_training(request: Request | None) -> bool:
    return request is not None and request.body["method"] == TRAIN


def _late(worker: _Worker, now_s: float) -> bool:
    request = worker.request
    return request is not None and now_s - worker.given_s > float(request.body["deadline_s"]) + STARTING_S
