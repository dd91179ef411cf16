"""Throughput of the search loop with many machines.

One search (random placer, synthetic model) measures on simulated machines whose trials take `trial_s` seconds of
waiting. Scheduler and machines share one process, the search has another, and all messages between them go over TLS on
loopback. `busy` is the part of the machines' time that is spent on trials, `loop_ms` the wall time of the search
divided by its trials where these take no time. `client_cpu_ms` is the processor time of the search for each trial,
`fleet_cpu_ms` that of the scheduler and of all machines.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.report import Row
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, Job, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.fleet.certificates import Certificates, Role, make_certificates
from ovplace.fleet.channel import open_channel
from ovplace.fleet.cluster import Cluster
from ovplace.fleet.files import FileStore
from ovplace.fleet.machine import Machine, simulated_class
from ovplace.fleet.pool import FleetPool
from ovplace.fleet.scheduler import Scheduler
from ovplace.fleet.wire import RemoteJob
from ovplace.fleet.worker import Worker
from ovplace.measuring.children import WorkerSpec
from ovplace.placers.random import Config, Placer
from ovplace.search.fleet_requests import FleetRequests
from ovplace.search.loop import Budget, Loop
from ovplace.search.staging import Staging
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_folder import RunFolder
from ovplace.testing.graphs import layered
from ovplace.testing.sessions import session
from ovplace.version import __version__

SPEC = MeasureSpec(warmup=0, blocks=1, repeats=1, min_time_ms=0.0)


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        machines: numbers of machines.
        trial_s: duration of a trial in seconds.
        trials: placements for each machine.
        loop_trials: placements of the run that measures the loop alone.
        ops: operations of the model.
    """

    machines: tuple[int, ...] = (1, 10, 100, 300, 1000)
    trial_s: float = 1.0
    trials: int = 10
    loop_trials: int = 1000
    ops: int = 200


SHORT = Options(machines=(2, 5), trial_s=0.2, trials=3, loop_trials=20, ops=20)


class WaitingBench:
    """Answers each request after a while."""

    def __init__(self, trial_s: float) -> None:
        """Keep the duration in seconds."""
        self._trial_s = trial_s

    async def run(self, job: RemoteJob, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return a measurement of 1 ms for each candidate, when the time is over."""
        await asyncio.sleep(self._trial_s)
        return [Measurement((1.0,), (1,)) for _ in arguments[0]]

    async def forget(self, number: str) -> None:
        """There is nothing to end."""

    def begin(self) -> None:
        """There is nothing to begin."""

    def close(self) -> None:
        """There is nothing to end."""


def rows(options: Options) -> Iterator[Row]:
    """Yield the overhead of the loop, then the throughput for each number of machines."""
    yield _measured(options, 1, 0.0, options.loop_trials)
    for count in options.machines:
        yield _measured(options, count, options.trial_s, options.trials * count)


def _measured(options: Options, count: int, trial_s: float, trials: int) -> Row:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_certificates(folder / "certs")
        ours, theirs = multiprocessing.Pipe()
        swarm = multiprocessing.get_context("spawn").Process(target=_swarm, args=(folder, count, trial_s, theirs))
        swarm.start()
        try:
            cluster = Cluster(ours.recv(), Certificates(folder / "certs"))
            spent = _searched(cluster, folder, options.ops, trials)
            cluster.close()
        finally:
            ours.send("end")
            fleet_cpu_s = ours.recv()
            swarm.join()
    wall_s = spent["wall_s"]
    return {
        "machines": count,
        "trial_s": trial_s,
        "trials": trials,
        "wall_s": wall_s,
        "trials_per_s": trials / wall_s,
        "busy": trials * trial_s / (wall_s * count),
        "loop_ms": 1e3 * wall_s / trials if not trial_s else None,
        "client_cpu_ms": 1e3 * spent["cpu_s"] / trials,
        "fleet_cpu_ms": 1e3 * fleet_cpu_s / trials,
        "client_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _searched(cluster: Cluster, folder: Path, ops: int, trials: int) -> dict[str, float]:
    """Return wall and processor time of one search."""
    for name in ("model.xml", "model.bin"):
        (folder / name).write_text(name)
    job = Job(str(folder / "model.xml"), (Device("CPU", "CPU"),))
    pool = FleetPool(cluster, simulated_class(), WorkerSpec("simulate", job))
    of = session(folder / "run", pool, graph=layered(ops, seed=0))
    folder.joinpath("run").mkdir()
    store = RunFolder(folder / "run").open_store()
    measurer = Measurer(of, store)
    reference = Candidate(
        "first", Placement.uniform(len(of.graph), of.problem.device_names[0], of.problem.device_names)
    )
    requests = FleetRequests(pool, measurer, Staging(measurer, reference, SPEC, wanted=False), reference, SPEC)
    loop = Loop(Placer(of.problem, Config()), measurer, requests, Budget(trials), "random", silent)
    start, cpu_s = time.monotonic(), time.process_time()
    found = loop.run()
    spent = {"wall_s": time.monotonic() - start, "cpu_s": time.process_time() - cpu_s}
    assert len({trial.number for trial in found}) == trials, f"{len(found)} trials"
    pool.close()
    store.close()
    return spent


def _swarm(folder: Path, count: int, trial_s: float, pipe: Connection) -> None:
    """Run a scheduler and machines until told to end; a process of its own."""
    asyncio.run(_run_swarm(folder, count, trial_s, pipe))


async def _run_swarm(folder: Path, count: int, trial_s: float, pipe: Connection) -> None:
    certificates, loop = Certificates(folder / "certs"), asyncio.get_running_loop()
    files, address = FileStore(folder / "files"), loop.create_future()
    serving = asyncio.create_task(Scheduler(certificates, files).serve("tls://127.0.0.1:0", address.set_result))
    tasks = [serving]
    for number in range(count):
        machine = Machine(f"m{number}", versions={"ovplace": __version__})
        channel = await open_channel(await address, certificates, Role.WORKER)
        tasks.append(asyncio.create_task(Worker(machine, WaitingBench(trial_s), files).work(channel)))
    pipe.send(await address)
    cpu_s = time.process_time()
    await loop.run_in_executor(None, pipe.recv)
    pipe.send(time.process_time() - cpu_s)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
