"""`ovplace train`: a policy that places models it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console


@click.command(short_help="Train a policy for models it has never seen.")
@click.argument("config", shell_complete=options.completes_file("configs/train"))
@click.option("-o", "--output", metavar="FILE.npz", help="The policy file; by default the one that CONFIG names.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Change a setting of CONFIG, such as train.updates=100; may be repeated.",
)
@options.as_json
@options.common
@click.pass_obj
def command(console: Console, /, config: str, output: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Train the policy of a placer on the models and simulated machines in CONFIG, and evaluate it on held-out ones.

    CONFIG is a TOML file, or the name of one that comes with ovplace. The same command continues a stopped training.
    'ovplace optimize --policy FILE' then starts from the policy.
    """
    from ovplace.cli.output.tables import show_json
    from ovplace.progress import listening
    from ovplace.train.run_training import run_training
    from ovplace.train.training_plan import find_config, read_plan

    plan = read_plan(find_config(config), settings)
    with listening(console) as listener:
        data = run_training(plan, Path(output or plan.config.output), listener)
    if as_json:
        show_json(data)
    else:
        _show(data)


def _show(data: dict[str, Any]) -> None:
    from ovplace.cli.output.tables import show_table

    columns = ("zero_shot", "per_graph", "single")
    header = ("latency over the best known", "cases", "policy", "p90", "worst", "trained on it", "p90", "worst")
    rows = [
        (row["set"], str(row["cases"]), *(_text(row[c][k]) for c in columns for k in ("median", "p90", "worst")))
        for row in data["sets"]
    ]
    show_table((*header, "one device", "p90", "worst"), rows, right=range(1, 11))
    click.echo(f"\nLeft in {data['policy']}: the policy, {data['bytes'] / 1e6:.2f} MB")


def _text(value: float | None) -> str:
    return "inf" if value is None else f"{value:.3f}"
