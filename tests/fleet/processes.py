"""A fleet of processes on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from ovplace.fleet.certificates import VARIABLE, Certificates
from ovplace.fleet.cluster import Cluster
from ovplace.testing.faults.left_behind import Marked

PROGRAM = [sys.executable, "-c", "from ovplace.cli import main; main()"]


class Fleet:
    """A scheduler and workers, each with a cache of its own."""

    def __init__(self, folder: Path, certificates: Certificates):
        self.folder, self.marked = folder, Marked(folder / "tmp")
        self._certificates = certificates
        self.processes = {}
        self.start_scheduler(0)

    def start_scheduler(self, port):
        said = self._start("scheduler", "cluster", "scheduler", "--port", str(port), "--patience", "3")
        self.address = re.search(r"tls://\S+", said.readline())[0]
        self.cluster = Cluster(self.address, self._certificates)

    def restart_scheduler(self):
        self.kill("scheduler")
        self.cluster.close()
        self.start_scheduler(self.address.rpartition(":")[2])

    def start_search(self, *arguments):
        """Start `ovplace optimize` in a process of its own."""
        return self._start("search", "optimize", *arguments, "--cluster", self.address)

    def kill(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.communicate(timeout=30)

    def _start(self, name, *arguments):
        environment = self.marked.environment | {
            VARIABLE: str(self._certificates.folder),
            "OVPLACE_CACHE": str(self.folder / name),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (self.folder / "site", *sys.path))),
        }
        process = subprocess.Popen([*PROGRAM, *arguments], env=environment, stderr=subprocess.PIPE, text=True)
        self.processes[name] = process
        return process.stderr

    def start_worker(self, name):
        self._start(name, "worker", "--scheduler", self.address, "--name", name)

    def wait_for(self, *names):
        for name in names:
            assert self.cluster.wait_for(lambda machine, name=name: machine.name == name, 60), name

    def send(self, name, number):
        self.processes[name].send_signal(number)

    def close(self):
        self.cluster.close()
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.processes.values():
            process.communicate(timeout=30)


@contextmanager
def running_fleet(folder, certificates, *workers):
    """Run a fleet with these workers; nothing of it may be left running."""
    fleet = Fleet(folder, certificates)
    try:
        for name in workers:
            fleet.start_worker(name)
        fleet.wait_for(*workers)
        yield fleet
    finally:
        fleet.close()
    end = [entry for entry in fleet.marked.left_behind(folder / "run") if entry.startswith("process")]
    assert end == []
