"""Writes `docs/cli.md` from the commands' own help: `python docs/make_cli_reference.py`."""

from __future__ import annotations

from pathlib import Path

import click

from ovplace.cli import group

TARGET = Path(__file__).parent / "cli.md"


def reference() -> str:
    """Return the page."""
    parts = ["# Command line\n\nWritten by `python docs/make_cli_reference.py` from the commands' own help.\n"]
    parts += [f"## {path}\n\n```text\n{text}\n```\n" for path, text in _helps(group, "ovplace")]
    return "\n".join(parts)


def _helps(command: click.Command, path: str) -> list[tuple[str, str]]:
    context = click.Context(command, info_name=path, terminal_width=100, max_content_width=100)
    found = [(path, command.get_help(context))]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            found += _helps(child, f"{path} {name}")
    return found


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
