"""`ovplace config`: the effective configuration."""

from __future__ import annotations

import click

from ovplace.cli.arguments import options


@click.group(name="config")
@options.common
def command() -> None:
    """Show configurations."""


@command.command()
@options.configuring
@options.as_json
@options.common
def show(config_file: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Print all settings as TOML.

    Settings of --config override the defaults, and those of --set override both.
    """
    from dataclasses import asdict

    from ovplace.cli.output.config_text import documented
    from ovplace.cli.output.tables import show_json
    from ovplace.session.configure import effective

    config = effective(config_file, settings)
    if as_json:
        show_json(asdict(config))
    else:
        click.echo(documented(config).encode(), nl=False)  # UTF-8, as --config reads it, whatever the terminal's is
