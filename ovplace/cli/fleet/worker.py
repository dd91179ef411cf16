"""`ovplace worker`: one machine of a fleet."""

from __future__ import annotations

import click

from ovplace.cli.arguments import options
from ovplace.cli.fleet.needs import room
from ovplace.cli.output.console import Console


@click.command(short_help="Measure and train for other machines.")
@click.option("--scheduler", "address", required=True, metavar="tls://HOST:PORT", help="The scheduler of the fleet.")
@click.option("--name", default="", show_default="the host name", help="Name of this machine in the fleet.")
@room
@options.common
@click.pass_obj
def command(console: Console, address: str, name: str, room_gib: float) -> None:
    """Let searches and trainings of a fleet use this machine until the command is stopped.

    While it runs, another worker or a search on the devices of this machine is refused, because that would disturb what
    it measures. The worker measures in child processes as a local run does, listens on no port, and accepts requests to
    measure and to train only: models, placements and settings, never code.
    """
    from ovplace.cli.fleet.needs import require_distributed

    require_distributed()
    from ovplace.cli.fleet.event_loop import run_until_stopped
    from ovplace.fleet.certificates import Certificates, default_folder
    from ovplace.fleet.files import FileStore
    from ovplace.fleet.job_runner import ProcessRunner
    from ovplace.fleet.machine import this_machine
    from ovplace.fleet.worker import Worker
    from ovplace.store.device_lock import for_worker
    from ovplace.train.worker_training import WorkerTraining

    with for_worker():
        files = FileStore.of_cache(room_gib)
        worker = Worker(this_machine(name), ProcessRunner(files, WorkerTraining), files)
        run_until_stopped(worker.serve(address, Certificates(default_folder()), console.log))
