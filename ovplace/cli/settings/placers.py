"""`ovplace placers`: the plug-ins and their settings."""

from __future__ import annotations

from typing import Any

import click

from ovplace.cli.arguments import options


@click.command(short_help="List placers and other plug-ins.")
@click.option("--all", "every", is_flag=True, help="Also coarseners, features, backends and exporters.")
@options.as_json
@options.common
def command(every: bool, as_json: bool) -> None:
    """List the placers with their settings, including those of other packages."""
    from ovplace.cli.output.tables import show_json
    from ovplace.plugins import registry

    roles = list(registry.ROLES) if every else ["placers"]
    found = {role: [_plugin(role, name) for name in registry.names(role)] for role in sorted(roles, reverse=True)}
    if as_json:
        show_json(found)
        return
    for role, entries in found.items():
        _show(role, entries)


def _plugin(role: str, name: str) -> dict[str, Any]:
    from ovplace.cli.output.settings_doc import documented_settings
    from ovplace.errors import UsageError
    from ovplace.plugins import registry

    try:
        plugin = registry.load(role, name)
    except UsageError as error:
        return {"name": name, "summary": f"{registry.summary(role, name)} ({error})".strip(), "settings": []}
    return {
        "name": name,
        "summary": plugin.summary,
        "settings": [s.to_data() for s in documented_settings(plugin.Config)],
    }


def _show(role: str, entries: list[dict[str, Any]]) -> None:
    from ovplace.cli.output.tables import show_pairs
    from ovplace.cli.output.terminal import say
    from ovplace.config.toml import value_text

    click.echo(f"{role}:")
    for entry in entries:
        say(f"  {entry['name']}: {entry['summary']}", indent=2)
        values = [(s, "none" if s["default"] is None else value_text(s["default"])) for s in entry["settings"]]
        show_pairs((f"    {s['name']} = {value}", s["doc"] or "-") for s, value in values)
    click.echo()
