"""The directive `command-line`: one section for each command, from click's own help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ovplace.cli import group
from ovplace.core.text.markdown_table import pipe_table

_MARKUP = re.compile(r"[\\`*_$<\[\]]")
"""What Markdown takes for markup: `<name>` for HTML, and what is between two `$` for mathematics."""


class CommandLine(SphinxDirective):
    """Describe every command of `ovplace`."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        text = "\n\n".join(_sections(group, "ovplace", None))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, parent=parent, info_name=name, **command.context_settings)
    yield f"## {context.command_path}"
    yield _plain(inspect.cleandoc(command.help or ""))
    yield f"```text\n{command.get_usage(context)}\n```"
    options = [record for p in _own(command, context) if (record := p.get_help_record(context))]
    if options:
        yield pipe_table(("option", "meaning"), [(f"`{names}`", _plain(text)) for names, text in options])
    if command.epilog and parent:
        yield f"```text\n{inspect.cleandoc(command.epilog).replace(chr(8), '').strip()}\n```"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            loaded = command.get_command(context, child)
            assert loaded is not None
            yield from _sections(loaded, child, context)


def _plain(text: str) -> str:
    """Return a help text, which is no Markdown, such that it is shown as it is."""
    return _MARKUP.sub(r"\\\g<0>", text)


def _own(command: click.Command, context: click.Context) -> list[click.Parameter]:
    """Return the parameters of a command that `ovplace` itself does not have."""
    shared = {parameter.name for parameter in group.get_params(context)} if context.parent else set()
    return [parameter for parameter in command.get_params(context) if parameter.name not in shared]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
