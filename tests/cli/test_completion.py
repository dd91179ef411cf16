"""Shell completion offers names and paths, also after the shell's own script has read what is offered."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete

from ovplace.cli import group

PATHS = re.compile("CONFIG|DIR|FILE|MODEL|PATH|RUN")
"""What parameters are called that take the path of a file or folder."""

BASH = """
eval "$(_OVPLACE_COMPLETE=bash_source ovplace)"
compopt() { of_bash="$1 $2"; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_ovplace_completion ovplace
echo "$of_bash|${COMPREPLY[*]}"
"""
"""Completes the last word, and says whether bash would complete files where nothing else fits, and what fits."""


@pytest.mark.parametrize(
    ("arguments", "start", "found"),
    [
        ([], "opt", {"optimize"}),
        (["optimize", "--placer"], "c", {"cut"}),
        (["inspect", "--coarsener"], "ch", {"chains"}),
        (["explain", "demo", "--machine"], "core", {"core-ultra"}),
        (["export", "run", "--to"], "net", {"netron"}),
        (["models", "build"], "sir", {"siren"}),
    ],
)
def test_names_are_completed(arguments, start, found):
    completion = ShellComplete(group, {}, "ovplace", "_OVPLACE_COMPLETE")
    assert found <= {item.value for item in completion.get_completions(arguments, start)}


def parameters(command: click.Command, context: click.Context) -> Iterator[tuple[click.Context, click.Parameter]]:
    """Yield the parameters of a command and of those below it, but flags, with the context of their command."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (child := command.get_command(context, name)) is not None:
                yield from parameters(child, click.Context(child, parent=context, info_name=name))
    for parameter in command.params:
        if not (isinstance(parameter, click.Option) and (parameter.is_flag or parameter.hidden)):
            yield context, parameter


def test_every_path_is_completed():
    found = [
        (f"{context.command_path} {parameter.name}", parameter.shell_complete(context, "x"))
        for context, parameter in parameters(group, click.Context(group, info_name="ovplace"))
        if PATHS.search((parameter.metavar or parameter.name).upper())
    ]
    assert len(found) > 30
    assert [where for where, items in found if not any(item.type == "file" for item in items)] == []


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["train", "def"], "default"),
        (["config", "show", "--config", "placers/gen"], "placers/genetic"),
        (["show", "runs/de"], ""),
    ],
)
def test_bash_completes_names_that_come_with_ovplace_and_otherwise_files(tmp_path, words, completed):
    program = tmp_path / "ovplace"
    program.write_text(f"#!{sys.executable}\nfrom ovplace.cli import main\nmain()\n")
    program.chmod(0o755)
    environment = os.environ | {"PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}
    command = ["bash", "-c", BASH, "bash", "ovplace", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == f"-o default|{completed}\n", done.stderr
