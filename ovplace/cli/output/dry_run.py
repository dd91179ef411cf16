"""`ovplace optimize --dry-run`: what would be done."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ovplace.cli.output.console import Console
from ovplace.cli.output.tables import show_json, show_pairs

if TYPE_CHECKING:
    from ovplace.config.schema import RunConfig


def show_estimate(console: Console, config: RunConfig, as_json: bool) -> None:
    """Print what `ovplace optimize` would do; nothing is written, no device is measured.

    Args:
        console: for the note on the devices.
        config: of the run.
        as_json: print JSON.

    Raises:
        OvplaceError: what `run` would raise about the configuration, the model or the devices.
    """
    from ovplace.commands.dry_run import estimate

    found = estimate(config)
    if as_json:
        show_json(asdict(found))
        return
    if found.note:
        console.log(found.note)
    show_pairs(
        [
            ("operations", str(found.operations)),
            ("groups", str(found.groups)),
            ("devices", ", ".join(found.devices)),
            ("baselines", str(found.baselines)),
            ("placements", "as the time allows" if found.placements is None else f"{found.placements} at most"),
            ("finalists", f"{found.finalists} at a time, {found.race} measurements at most"),
            ("final comparison", f"{found.rounds} rounds of {found.compared}"),
            ("time", f"roughly {found.seconds:.0f} s: {found.basis}"),
        ]
    )
