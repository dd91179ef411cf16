"""`ovplace inspect`: what a model consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ovplace.cli.arguments import options

if TYPE_CHECKING:
    from ovplace.commands.inspect import Inspection
    from ovplace.commands.support import DeviceSupport


@click.command(short_help="Show what a model consists of.")
@options.model
@options.preparing
@options.coarsener
@options.configuring
@options.as_json
@options.common
def command(model: str, config_file: str | None, settings: tuple[str, ...], as_json: bool, **search: Any) -> None:
    """Show the operations, sizes and groups of MODEL as prepared for a search, with static shapes.

    Each device of this machine is asked which operations it can run.
    """
    from dataclasses import asdict

    from ovplace.api.model_file import find_model
    from ovplace.cli.output.tables import show_json
    from ovplace.commands.inspect import inspect
    from ovplace.session.configure import effective

    given = {"model": find_model(model), **options.given(search)}
    found = inspect(effective(config_file, settings, given))
    if as_json:
        show_json(asdict(found))
    else:
        _show(found)


def _show(found: Inspection) -> None:
    from ovplace.cli.output.tables import show_pairs, show_table
    from ovplace.core.result.labels import size

    show_pairs(
        [
            ("model", found.path),
            ("hash", found.hash),
            ("operations", f"{found.operations} ({found.operations_before} before preparing)"),
            ("edges", str(found.edges)),
            ("weights", size(found.weight_bytes)),
            ("inseparable groups", str(found.legal_groups)),
            ("groups", f"{found.groups} (coarsener '{found.coarsener}')"),
            ("inputs", ", ".join(f"{i.name}{i.shape} {i.element_type}" for i in found.inputs)),
            ("dynamic inputs", ", ".join(i.name for i in found.inputs if i.dynamic)),
        ]
    )
    click.echo()
    show_table(("device", "can run", "cannot run"), [_device(device) for device in found.devices])
    click.echo()
    show_table(("operation type", "count"), [(kind, str(count)) for kind, count in found.types.items()], right=(1,))


def _device(device: DeviceSupport) -> tuple[str, str, str]:
    name = f"{device.name} (emulated)" if device.emulated else device.name
    if device.problem:
        return name, "-", device.problem
    cannot = ", ".join(f"{count} {kind}" for kind, count in device.unsupported.items())
    return name, f"{device.supported} of {device.computing} operations that compute", cannot or "-"
