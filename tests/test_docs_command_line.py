"""The page about the command line shows help texts as they are, whatever Markdown would make of them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click
import pytest
from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.parsers.docutils_ import Parser

from ovplace.cli import group

DIRECTIVE = Path(__file__).parent.parent / "docs/_ext/command_line.py"


@pytest.fixture(scope="module")
def page():
    found = importlib.util.spec_from_file_location("command_line", DIRECTIVE)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    text = "\n\n".join(module._sections(group, "ovplace", None))
    return publish_doctree(text, parser=Parser(), settings_overrides={"myst_enable_extensions": ["dollarmath"]})


def in_one_line(text):
    return re.sub(r"\s+", " ", text.replace("\b", "")).strip()


def help_texts(command, parent=None):
    context = click.Context(command, parent=parent, **command.context_settings)
    yield from (command.help or "").split("\n\n")
    yield from (
        parameter.help for parameter in command.params if getattr(parameter, "help", "") and not parameter.hidden
    )
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from help_texts(command.get_command(context, name), context)


def test_help_texts_are_shown_as_they_are(page):
    shown, texts = in_one_line(page.astext()), [in_one_line(text) for text in help_texts(group)]
    assert len(texts) > 100
    assert [text for text in texts if text not in shown] == []
    assert not list(page.findall(lambda node: isinstance(node, nodes.math | nodes.raw)))
