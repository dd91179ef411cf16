"""`ovplace worker`: one machine of a fleet."""

from __future__ import annotations

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console


@click.command(short_help="Measure for searches on other machines.")
@click.option("--scheduler", "address", required=True, metavar="tls://HOST:PORT", help="The scheduler of the fleet.")
@click.option("--name", default="", help="Name of this machine in the fleet; that of the host by default.")
@options.common
@click.pass_obj
def command(console: Console, address: str, name: str) -> None:
    """Let searches of a fleet measure on this machine until this is stopped.

    One worker runs on a machine; searches beside it would disturb what it measures. It measures in child processes as
    a local run does, listens on no port, and takes measuring requests only: models and placements, never code.
    """
    import asyncio

    from ovplace.cli.fleet.needs import require_distributed

    require_distributed()
    from ovplace.fleet.bench import ProcessBench
    from ovplace.fleet.certificates import Certificates, default_folder
    from ovplace.fleet.files import FileStore
    from ovplace.fleet.machine import this_machine
    from ovplace.fleet.worker import Worker
    from ovplace.store.cache import cache_folder
    from ovplace.store.lock import locked

    files = FileStore.of_cache()
    with locked(cache_folder() / "worker.lock", "the devices of this machine are used by", "one worker is enough"):
        worker = Worker(this_machine(name), ProcessBench(files), files)
        asyncio.run(worker.serve(address, Certificates(default_folder()), console.log))
