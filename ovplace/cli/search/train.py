"""`ovplace train`: a policy that places models it has never seen."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console

if TYPE_CHECKING:
    from ovplace.train.seeds import TrainingSite
    from ovplace.train.training_plan import TrainingPlan


@click.command(short_help="Train a policy for models it has never seen.")
@click.argument("config", shell_complete=options.completes_file("configs/train"))
@click.option(
    "-o",
    "--output",
    metavar="FILE.npz",
    shell_complete=options.completes_path,
    help="The policy file; by default the one that CONFIG names.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Change a setting of CONFIG, such as train.updates=100; may be repeated.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help="Train with N seeds, from train.seed on, and keep the policy that places the training graphs best; "
    "by default with train.seed only.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="all processors",
    help="Number of seeds at the same time on this machine, each on one processor.",
)
@click.option(
    "--cluster", metavar="tls://HOST:PORT", help="Train each seed on a machine of the fleet; by default on this one."
)
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console,
    /,
    config: str,
    output: str | None,
    settings: tuple[str, ...],
    seeds: int | None,
    jobs: int,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Train the policy of a placer on the models and simulated machines in CONFIG, and evaluate it on held-out ones.

    CONFIG is a TOML file, or the name of one that comes with ovplace. The same command continues a stopped training.
    'ovplace optimize --policy FILE' then starts from the policy.
    """
    from ovplace.cli.output.tables import show_json
    from ovplace.errors import UsageError
    from ovplace.progress import listening
    from ovplace.train.run_training import run_training
    from ovplace.train.seeds import train_seeds
    from ovplace.train.training_plan import find_training, read_plan

    if options.was_given("jobs") and (seeds is None or cluster is not None):
        raise UsageError("--jobs needs --seeds without --cluster; add --seeds N, or leave --jobs out")
    file = find_training(config)
    plan = read_plan(file, settings)
    path = Path(output or plan.config.output)
    with listening(console) as listener:
        if seeds is None and cluster is None:
            data = run_training(plan, path, listener)
        else:
            numbers = range(plan.config.seed, plan.config.seed + (seeds or 1))
            plans = [read_plan(file, (*settings, f"train.seed={number}")) for number in numbers]
            with _site(cluster, jobs, plans, console) as site:
                data = train_seeds(plans, path, site, listener)
    if as_json:
        show_json(data)
    else:
        _show(data)


@contextmanager
def _site(cluster: str | None, jobs: int, plans: Sequence[TrainingPlan], console: Console) -> Iterator[TrainingSite]:
    from ovplace.train.training_sites import TrainsHere, TrainsOnFleet

    if cluster is None:
        yield TrainsHere(jobs)
        return
    from ovplace.cli.fleet.needs import require_distributed

    require_distributed()
    from ovplace.fleet.certificates import Certificates, default_folder
    from ovplace.fleet.cluster import Cluster

    title = f"a policy of {plans[0].config.placer}, {len(plans)} seeds"
    connected = Cluster(cluster, Certificates(default_folder()), title)
    site = TrainsOnFleet(connected, len(plans))
    try:
        yield site
    finally:
        connected.close()
        for machine, why in site.aside.items():
            console.log(f"machine '{machine}' was set aside: {why}")


def _show(data: dict[str, Any]) -> None:
    from ovplace.cli.output.tables import show_table

    columns = ("zero_shot", "per_graph", "single")
    header = ("latency over the best known", "cases", "policy", "p90", "worst", "trained on it", "p90", "worst")
    rows = [
        (row["set"], str(row["cases"]), *(_text(row, c, k) for c in columns for k in ("median", "p90", "worst")))
        for row in data["sets"]
    ]
    show_table((*header, "one device", "p90", "worst"), rows, right=range(1, 11))
    if len(data.get("seeds", ())) > 1:
        _show_seeds(data)
    click.echo(f"\nThe policy is in {data['policy']}, {data['bytes'] / 1e6:.2f} MB.")


def _show_seeds(data: dict[str, Any]) -> None:
    from ovplace.cli.output.tables import show_table

    seeds = [{row["set"]: row for row in of["sets"]} for of in data["seeds"]]
    names = dict.fromkeys(name for sets in seeds for name in sets)
    rows = [(name, *(_text(sets.get(name), "zero_shot", "p90") for sets in seeds)) for name in names]
    click.echo(f"\nSeed {data['seed']} is kept. 90th percentile of the policy with each seed:\n")
    show_table(("", *(f"seed {of['seed']}" for of in data["seeds"])), rows, right=range(1, len(data["seeds"]) + 1))


def _text(row: Mapping[str, Any] | None, column: str, key: str) -> str:
    """Return a score of a set, which may have no cases; infinite scores are stored as None."""
    if not row or not row["cases"]:
        return "-"
    value = row[column][key]
    return "inf" if value is None else f"{value:.3f}"
