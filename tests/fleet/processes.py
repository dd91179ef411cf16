"""A fleet of processes on this machine."""

from __future__ import annotations

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

    def __init__(self, folder: Path, certificates: Certificates, patience_s: float = 3.0):
        self.folder, self.marked = folder, Marked(folder / "tmp")
        self._certificates = certificates
        self.processes = {}
        said = self._start("scheduler", "cluster", "scheduler", "--port", "0", "--patience", str(patience_s))
        self.address = re.search(r"tls://\S+", said.readline())[0]
        self.cluster = Cluster(self.address, certificates)

    def _start(self, name, *arguments):
        environment = self.marked.environment | {
            VARIABLE: str(self._certificates.folder),
            "OVPLACE_CACHE": str(self.folder / name),
            "OMP_NUM_THREADS": "1",
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
