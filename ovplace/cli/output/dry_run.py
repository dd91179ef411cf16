"""`ovplace optimize --dry-run`: what would be done."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ovplace.cli.output.console import Talk
from ovplace.cli.output.tables import show_json, show_pairs

if TYPE_CHECKING:
    from ovplace.config.schema import RunConfig


def show_plan(talk: Talk, config: RunConfig, as_json: bool) -> None:
    """Print what `ovplace optimize` would do; nothing is written, no device is measured.

    Args:
        talk: for the note on the devices.
        config: of the run.
        as_json: print JSON.
    """
    from ovplace.commands.dry_run import plan

    found = plan(config)
    if as_json:
        show_json(asdict(found))
        return
    if found.note:
        talk.say(found.note)
    show_pairs(
        [
            ("operations", str(found.operations)),
            ("groups", str(found.groups)),
            ("devices", ", ".join(found.devices)),
            ("baselines", str(found.baselines)),
            ("placements", f"{found.placements} at most"),
            ("finalists", str(found.finalists)),
            ("final comparison", f"{found.rounds} rounds of {found.duellists}"),
            ("time", f"roughly {found.seconds:.0f} s: {found.formed}"),
        ]
    )
