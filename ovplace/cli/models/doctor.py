"""`ovplace doctor`: what OpenVINO sees, what is there but invisible, and what fixes it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ovplace.cli.arguments import options

if TYPE_CHECKING:
    from ovplace.devices.doctor import Finding


@click.command(short_help="Find devices that OpenVINO does not see.")
@options.as_json
@options.common
def command(as_json: bool) -> None:
    """Show what OpenVINO sees on this machine, what it does not see, and the command that fixes it.

    The command examines OpenVINO's version and plugins, devices with their drivers and permissions, WSL, and the
    emulated GPU. It changes nothing.
    """
    from ovplace.cli.output.tables import show_json
    from ovplace.devices.discover import physical_devices
    from ovplace.devices.doctor import examine, this_host

    found = examine(physical_devices(), this_host())
    if as_json:
        show_json([asdict(finding) for finding in found])
        return
    for finding in found:
        _show(finding)


def _show(finding: Finding) -> None:
    from ovplace.cli.output.terminal import say

    say(f"{'ok' if finding.good else '!!'}  {finding.text}", indent=4)
    if finding.command:
        click.echo(f"    {finding.command}")
