"""`ovplace optimize --dry-run`: what would be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ovplace.cli.output.console import Console
from ovplace.cli.output.tables import show_json, show_pairs

if TYPE_CHECKING:
    from ovplace.commands.dry_run import Estimate
    from ovplace.config.schema import RunConfig


def show_estimates(console: Console, configs: Sequence[RunConfig], as_json: bool) -> None:
    """Print what `ovplace optimize` would do with each model; nothing is written, no device is measured.

    Args:
        console: for the note on the devices.
        configs: of the runs.
        as_json: print JSON, a list where there are several runs.

    Raises:
        OvplaceError: what `run` would raise about the configuration, the model or the devices.
    """
    from ovplace.commands.dry_run import estimate

    if as_json:
        found = [asdict(estimate(config)) for config in configs]
        show_json(found if len(found) > 1 else found[0])
        return
    for number, config in enumerate(configs):
        if len(configs) > 1:
            click.echo(f"{(number and chr(10)) or ''}{config.search.model}")
        _show(console, estimate(config))


def _show(console: Console, found: Estimate) -> None:
    if found.note:
        console.log(found.note)
    comparison = f"{found.rounds} rounds of {found.compared}" if found.rounds else "none: nothing to compare"
    show_pairs(
        [
            ("operations", str(found.operations)),
            ("groups", str(found.groups)),
            ("devices", ", ".join(found.devices)),
            ("baselines", str(found.baselines)),
            ("placements", "as the time allows" if found.placements is None else f"{found.placements} at most"),
            ("finalists", f"{found.finalists} at a time, {found.race} measurements at most"),
            ("final comparison", comparison),
            ("time", f"roughly {found.seconds:.0f} s: {found.basis}"),
        ]
    )
