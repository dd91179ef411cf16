"""`ovplace config`: the effective configuration."""

from __future__ import annotations

import click

from ovplace.cli import options


@click.group(name="config")
@options.common
def command() -> None:
    """Show configurations."""


@command.command()
@options.configuring
@options.as_json
@options.common
def show(config_file: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Print all settings as TOML: the defaults, under those of --config, under those of --set."""
    from dataclasses import asdict

    from ovplace import config as toml
    from ovplace.cli.config_text import documented
    from ovplace.cli.data_files import config_path
    from ovplace.cli.tables import show_json
    from ovplace.search.session import check_settings

    config = toml.effective(config_path(config_file), settings, {})
    check_settings(config)
    if as_json:
        show_json(asdict(config))
    else:
        click.echo(documented(config), nl=False)
