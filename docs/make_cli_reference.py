"""Writes `docs/cli.md` from the commands' own help: `python docs/make_cli_reference.py`."""

from __future__ import annotations

from pathlib import Path

import click

from ovplace.cli import group

TARGET = Path(__file__).parent / "cli.md"


def reference() -> str:
    """Return the page."""
    parts = ["# Command line\n\nWritten by `python docs/make_cli_reference.py` from the commands' own help.\n"]
    parts += [f"## {path}\n\n```text\n{text}\n```\n" for path, text in _helps(group, "ovplace", None)]
    return "\n".join(parts)


def _helps(command: click.Command, name: str, parent: click.Context | None) -> list[tuple[str, str]]:
    settings = {**command.context_settings, "terminal_width": 100, "max_content_width": 100}
    context = click.Context(command, parent=parent, info_name=name, **settings)
    found = [(context.command_path, command.get_help(context))]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            loaded = command.get_command(context, child)
            assert loaded is not None
            found += _helps(loaded, child, context)
    return found


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
