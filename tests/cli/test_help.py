"""Every help shows its defaults, and a slip is one line that says what was meant."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import click
import pytest

from ovplace.cli import group
from ovplace.config.schema import SearchConfig

SETTINGS = {field.name: field.default for field in dataclasses.fields(SearchConfig)}


def all_options(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Option, str]]:
    """Yield path, option and help text of each option of a command and of those below it."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            yield from all_options(child, click.Context(child, parent=context, info_name=name))
        return
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden and not option.is_flag and not option.multiple:
            yield context.command_path, option, " ".join(option.get_help_record(context)[1].split())


OPTIONS = list(all_options(group, click.Context(group, info_name="ovplace", **group.context_settings)))


def groups_below(command: click.Group, context: click.Context) -> Iterator[tuple[click.Group, click.Context]]:
    """Yield a group and those below it, with their contexts."""
    yield command, context
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if isinstance(child, click.Group):
            yield from groups_below(child, click.Context(child, parent=context, info_name=name))


def test_no_summary_of_a_command_is_cut_off():
    for command, context in groups_below(group, click.Context(group, info_name="ovplace", terminal_width=80)):
        cut_off = [line for line in command.get_help(context).splitlines()[1:] if line.endswith("...")]
        assert not cut_off, context.command_path


@pytest.mark.parametrize(("path", "option", "text"), OPTIONS, ids=[f"{path} {o.name}" for path, o, _ in OPTIONS])
def test_each_option_says_what_holds_without_it(path, option, text):
    setting = SETTINGS.get(option.name)
    if setting not in (None, "", 0.0):
        assert f"[default: {setting}]" in text
    elif option.name not in ("placement", "machine"):  # which add something
        assert "default" in text or "[required]" in text


@pytest.mark.parametrize(("words", "said"), [
    (["optimise", "x"], "there is no command 'optimise'; did you mean 'optimize'?"),
    (["zzz"], "there is no command 'zzz'; see 'ovplace --help'"),
    (["models", "biuld"], "Did you mean 'build'?"),
    (["config", "show", "--config", "nosuch"], "give a .toml file, or one of: default, placers/annealing, "),
    (["config", "show", "--config", "placers/genetix"], "did you mean 'placers/genetic'?"),
    (["optimize", "x", "--buget", "3"], "Did you mean one of: '--budget'"),
    (["optimize", "TINY", "--time", "0"], "a duration must be positive, got '0'; leave it out for the default"),
    (["bound", "run", "--time-limit", "0"], "a duration must be positive, got '0'; leave it out for the default"),
    (["optimize", "TINY", "--max-error", "-1"], "max_error must not be negative, got -1; leave it out"),
    (["optimize", "TINY", "--input", "NPY"], "have no names; give an .npz with one array for each input: np.savez("),
])  # fmt: skip
def test_a_slip_is_one_line_with_advice(ovplace, tiny, tmp_path, words, said):
    inputs = tmp_path / "x.npy"
    inputs.touch()
    done = ovplace(*({"TINY": tiny, "NPY": inputs}.get(word, word) for word in words))
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
