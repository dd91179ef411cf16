"""`ovplace devices`: what this machine has, and how to get what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ovplace.cli.arguments import options

if TYPE_CHECKING:
    from ovplace.core.device import Device

_FACTS = {
    "full_name": "name",
    "kind": "kind",
    "driver": "driver",
    "capabilities": "capabilities",
    "default_precision": "default precision",
    "problem": "problem",
}


@click.command(short_help="List devices and how to get more.")
@options.as_json
@options.common
def command(as_json: bool) -> None:
    """List the devices that OpenVINO finds, the emulated GPU, and what would bring in the others."""
    from ovplace.cli.output.tables import show_json, show_pairs

    found = _found()
    if as_json:
        show_json(found)
        return
    for device in found["devices"]:
        click.echo(device["name"] + (" (emulated)" if device["emulated"] else ""))
        show_pairs((f"  {title}", device["facts"].get(fact, "")) for fact, title in _FACTS.items())
        click.echo()
    if found["default"]["note"]:
        click.echo(f"Without -d: {', '.join(found['default']['devices'])} ({found['default']['note']})")
    else:
        click.echo(f"Without -d: {', '.join(found['default']['devices'])}")
    for hint in found["missing"]:
        click.echo(f"Missing {hint['device']}: {hint['text']}")


def _found() -> dict[str, Any]:
    import openvino as ov

    from ovplace.devices import emulated_gpu
    from ovplace.devices.discover import discover, missing
    from ovplace.devices.select import select

    physical, problem = discover(ov.Core()), emulated_gpu.why_unavailable()
    chosen = select("", {}, None, physical, problem)
    emulated = [] if problem else [emulated_gpu.device()]
    return {
        "devices": [_data(device) for device in (*physical, *emulated)],
        "default": {"devices": [device.name for device in chosen.devices], "note": chosen.note},
        "missing": [{"device": hint.device, "text": hint.text} for hint in missing(physical)],
    }


def _data(device: Device) -> dict[str, Any]:
    data = device.to_dict()
    return {key: data[key] for key in ("name", "facts", "emulated")}
