"""The examples of the documentation run, and the commands and settings that its pages name exist.

In a page, a block `console` is run: lines that begin with `$ ` are commands, the rest is their standard output, in
which `...` stands for anything. A block `python` is run by itself. A `{code-block}` with a caption is the file of that
name, which later blocks of the page find. Commands in blocks `sh` are only read: they need hardware, or files that
the reader has.
"""

from __future__ import annotations

import dataclasses
import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from ovplace.cli import group
from ovplace.config.schema import RunConfig
from ovplace.plugins import registry

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(ROOT)): path for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))}
ROLES = {"placer": "placers", "coarsener": "coarseners", "backend": "backends"}
SHORTER = {"--time 2m": "--time 15s", "--seeds 3": "--seeds 2"}
"""What a reader has patience for is shortened here."""

_BLOCK = re.compile(
    r"^( *)(?:```|:::)(\{code-block\} )?(\w+)\n(?: *:caption: (\S+)\n)?(.*?)^\1(?:```|:::)$", re.M | re.S
)
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block; `file` is the name that its caption gives it."""

    kind: str
    file: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    for _, directive, kind, file, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if file or not directive:
            yield Block(kind, file, text)


def runs(page: Path) -> bool:
    return page.is_relative_to(DOCS) and any(b.kind in ("console", "python") and not b.file for b in blocks(page))


def commands(page: Path) -> Iterator[str]:
    for block in blocks(page):
        for line in block.text.splitlines():
            command = line.strip().removeprefix("$ ")
            if block.kind in ("sh", "console") and command.startswith("ovplace "):
                yield command


def parsed(words: list[str]) -> None:
    """Let click read a command without running it."""
    command: click.Command = group
    context: click.Context | None = None  # of the parent: a command keeps the help options of the first one it sees
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context, **command.context_settings)
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    command.make_context(" ".join(words), words, parent=context)


@pytest.mark.parametrize("page", PAGES)
def test_commands_have_the_options_that_pages_name(page):
    for command in commands(PAGES[page]):
        parsed(shlex.split(command.split(" | ")[0].split(" > ")[0])[1:])


def fields(kind: type) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def known_settings() -> dict[str, set[str]]:
    """Return the keys of each section; those of plug-ins are the keys of any plug-in of the role."""
    run = RunConfig()
    sections = {field.name: type(getattr(run, field.name)) for field in dataclasses.fields(RunConfig)}
    known = {name: fields(kind) for name, kind in sections.items() if dataclasses.is_dataclass(kind)}
    for section, role in ROLES.items():
        known[section] = {key for name in registry.names(role) for key in fields(registry.load(role, name).Config)}
    return known


def test_settings_that_pages_name_exist():
    known = known_settings()
    setting = re.compile(rf"\b({'|'.join(known)})\.(?!md\b)([a-z_]+)\b(?![.(])")
    named = {(page, *found) for page, path in PAGES.items() for found in setting.findall(path.read_text("utf-8"))}
    assert [entry for entry in sorted(named) if entry[2] not in known[entry[1]]] == []
    assert len(named) > 50


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [name for name, path in PAGES.items() if runs(path)])
def test_examples_run(page, tmp_path):
    for block in blocks(PAGES[page]):
        if block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            ran([sys.executable, "-c", block.text], tmp_path)
        elif block.kind == "console":
            for command, expected in examples(block.text):
                got = ran(["bash", "-c", command], tmp_path)
                message = f"$ {command}\n{got}"
                assert not expected or doctest.OutputChecker().check_output(expected, got, _SAME), message


def examples(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output that the page shows."""
    for part in ("\n" + text).split("\n$ ")[1:]:
        command, _, output = part.partition("\n")
        for usual, short in SHORTER.items():
            command = command.replace(usual, short)
        yield command, output


def ran(words: list[str], folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout
