"""Errors as a Python program reads them: options of the command line are keyword arguments there."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ovplace.api.options import SearchOptions
from ovplace.errors import OvplaceError

P = ParamSpec("P")
R = TypeVar("R")

_OTHERS = {"-d": "device", "-i": "input", "--set": "settings", "--config": "config_file", "--rigorous": "rigorous=True"}
"""Keyword arguments whose name is not that of the option."""

_OUTPUT = re.compile(r"(?: with)? -o\b")
"""It names what is written, which is an argument without a name of most calls."""

_AGAIN = re.compile(r"\bsame command\b")
"""It continues what was stopped, as the same call does in a program."""

_QUOTED = re.compile(r"((?<!\w)'[^']*'(?!\w))")
"""What a user wrote, and whole commands; an apostrophe within a word quotes nothing."""

_OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)\b(?:( )$| ([A-Z][\w:,]*))?")
"""An option, the space before a quoted value, or a value in capitals."""


def with_python_texts(call: Callable[P, R]) -> Callable[P, R]:
    """Return a function of the Python interface whose errors name keyword arguments in place of options."""

    @functools.wraps(call)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except OvplaceError as error:
            error.args = (python_text(str(error)),)
            raise

    return called


def python_text(text: str) -> str:
    """Return an error text in which options are keyword arguments; what is quoted stays as it is.

    Example:
        >>> python_text("--shape '[1]' is too short; give 'x' with -i, or choose another folder with -o")
        "shape='[1]' is too short; give 'x' with input, or choose another folder"
    """
    parts = _QUOTED.split(text)
    parts[::2] = [_OPTION.sub(_argument, _OUTPUT.sub("", _AGAIN.sub("same call", part))) for part in parts[::2]]
    return "".join(parts)


def _argument(option: re.Match[str]) -> str:
    """Return the keyword argument of an option, or the option itself where there is none."""
    written, space, value = option.groups()
    name = written.removeprefix("--").replace("-", "_")
    name = _OTHERS.get(written, name if name in SearchOptions.__annotations__ else "")
    if not name:
        return option[0]
    return f"{name}='{value}'" if value else f"{name}=" if space else name
