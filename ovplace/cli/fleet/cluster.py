"""`ovplace cluster`: what holds a fleet of machines together."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from ovplace.cli.arguments import options
from ovplace.cli.fleet.needs import room
from ovplace.cli.output.console import Console


@click.group(name="cluster", short_help="Certificates and scheduler of a fleet of machines.")
@options.common
def command() -> None:
    """Let one search measure on many machines: make their certificates, run their scheduler, list them.

    The certificates of a machine are in the folder $OVPLACE_CERTS if it is set, and otherwise in ovplace/certs under
    $XDG_CONFIG_HOME or ~/.config.
    """


@command.command()
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    shell_complete=options.completes_path,
    help="Folder of the certificates; by default the one where all commands look.",
)
@options.common
def certs(output: str | None) -> None:
    """Make an authority of your own, and a certificate for each role.

    The machine of the scheduler needs ca.pem and scheduler.pem, each machine that measures ca.pem and worker.pem, and
    each one that searches ca.pem and client.pem. None of them needs the key of the authority,
    ca-key.pem. The files contain secret keys: copy them by ssh.
    """
    from ovplace.fleet.certificates import default_folder, make_certificates

    for path in make_certificates(Path(output) if output else default_folder()):
        click.echo(path)


@command.command()
@click.option("--host", default="127.0.0.1", help="Address to listen on; by default reachable from this machine only.")
@click.option("--port", type=click.IntRange(0, 65535), default=8786, help="Port; 0 for any free one.")
@click.option(
    "--patience", type=options.Duration(), default="15s", help="Silence after which a machine counts as lost."
)
@click.option(
    "--largest-message",
    "largest_mib",
    type=click.IntRange(8),
    default=64,
    metavar="MIB",
    show_default=True,
    help="Largest message, in MiB, that workers and searches may send; models are sent in pieces of 4 MiB.",
)
@click.option(
    "--requests",
    "most_requests",
    type=click.IntRange(1),
    default=4096,
    show_default=True,
    help="Largest number of requests of one search that wait or run here; further ones wait in the search.",
)
@click.option(
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    default=8787,
    show_default=True,
    help="Port of the dashboard, a web page for browsers on this machine; any free one if it is in use.",
)
@click.option("--no-dashboard", is_flag=True, help="Serve no dashboard.")
@room
@options.common
@click.pass_obj
def scheduler(
    console: Console,
    /,
    host: str,
    port: int,
    patience: float,
    largest_mib: int,
    most_requests: int,
    dashboard_port: int,
    no_dashboard: bool,
    room_gib: float,
) -> None:
    """Run the scheduler of a fleet until it is stopped.

    Machines and searches connect to it over TLS. It passes requests on, keeps models for the machines that
    need them, and runs nothing itself.
    """
    from ovplace.cli.fleet.needs import require_distributed

    require_distributed()
    from ovplace.cli.fleet.event_loop import run_until_stopped
    from ovplace.fleet.certificates import Certificates, default_folder
    from ovplace.fleet.dashboard.server import serving_dashboard
    from ovplace.fleet.files import FileStore
    from ovplace.fleet.limits import FleetLimits
    from ovplace.fleet.scheduler import Scheduler

    limits, files = FleetLimits(largest_mib, most_requests), FileStore.of_cache(room_gib)
    serving = Scheduler(Certificates(default_folder()), files, patience, console.log, limits)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host

    async def serve() -> None:
        shown = nullcontext("") if no_dashboard else serving_dashboard(dashboard_port, serving.overview)
        async with shown as dashboard:
            await serving.serve(f"tls://{host}:{port}", lambda address: ready(address, dashboard))

    def ready(address: str, dashboard: str) -> None:
        console.log(f"scheduler at {address}")
        if dashboard:
            console.log(f"dashboard at {dashboard}")

    run_until_stopped(serve())


@command.command()
@click.argument("address", metavar="tls://HOST:PORT")
@options.as_json
@options.common
@click.pass_obj
def machines(console: Console, /, address: str, as_json: bool) -> None:
    """List the machines of a fleet and their devices."""
    from ovplace.cli.fleet.needs import require_distributed

    require_distributed()
    from ovplace.cli.output.tables import show_json, show_table
    from ovplace.fleet.certificates import Certificates, default_folder
    from ovplace.fleet.cluster import Cluster

    cluster = Cluster(address, Certificates(default_folder()))
    found = cluster.machines()
    cluster.close()
    if as_json:
        show_json([machine.to_dict() for machine in found])
        return
    if not found:
        console.log(f"no machines yet; start 'ovplace worker --scheduler {address}' on one")
        return
    rows = [
        (m.name, d.label, d.facts.get("full_name", ""), m.versions.get("ovplace", ""), m.versions.get("openvino", ""))
        for m in found
        for d in m.devices
    ]
    show_table(("machine", "device", "full name", "ovplace", "openvino"), rows)
