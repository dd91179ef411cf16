"""`ovplace devices`: what this machine has, and how to get what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ovplace.cli.arguments import options

if TYPE_CHECKING:
    from ovplace.core.device import Device
    from ovplace.devices.doctor import Finding
    from ovplace.devices.select import Selection

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
    """List the devices that OpenVINO finds, the emulated GPU, and what is needed to get further ones."""
    import openvino as ov

    from ovplace.cli.output.tables import show_json
    from ovplace.devices import emulated_gpu
    from ovplace.devices.discover import discover
    from ovplace.devices.doctor import lacking, this_host
    from ovplace.devices.select import Selection, select
    from ovplace.errors import DeviceError

    physical, problem = discover(ov.Core()), emulated_gpu.why_unavailable()
    try:
        chosen = select("", {}, None, physical, problem)
    except DeviceError as error:  # the list shows what there is, all the same
        chosen = Selection((), str(error))
    devices = (*physical, *([] if problem else [emulated_gpu.emulated_device()]))
    to_mend = [finding for finding in lacking(physical, this_host()) if not finding.good]
    if as_json:
        show_json(_to_json(devices, chosen, to_mend))
    else:
        _show(devices, chosen, to_mend)


def _show(devices: Sequence[Device], chosen: Selection, to_mend: Sequence[Finding]) -> None:
    from ovplace.cli.output.tables import show_pairs
    from ovplace.cli.output.terminal import say
    from ovplace.devices.discover import NPU_TREATMENT

    for device in devices:
        click.echo(device.label)
        show_pairs((f"  {title}", _text(device, fact)) for fact, title in _FACTS.items())
        click.echo()
    note = f" ({chosen.note})" if chosen.note else ""
    say(f"Without -d: {', '.join(device.name for device in chosen.devices) or 'none'}{note}")
    say(f"NPU: {NPU_TREATMENT}.")
    for finding in to_mend:
        say(f"Missing {finding.subject}: {finding.text}")
        if finding.command:
            click.echo(f"    {finding.command}")


def _text(device: Device, fact: str) -> str:
    text = device.facts.get(fact, "")
    other = fact == "default_precision" and device.precision not in ("default", text)
    return f"{text}; ovplace uses {device.precision}" if other else text


def _to_json(devices: Sequence[Device], chosen: Selection, to_mend: Sequence[Finding]) -> dict[str, Any]:
    from ovplace.devices.discover import NPU_TREATMENT

    return {
        "devices": [{"name": d.name, "facts": dict(d.facts), "emulated": d.emulated} for d in devices],
        "default": {"devices": [device.name for device in chosen.devices], "note": chosen.note},
        "npu": NPU_TREATMENT,
        "missing": [{"device": f.subject, "text": f.text, "command": f.command} for f in to_mend],
    }
