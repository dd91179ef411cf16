"""Plug-ins without settings, which break what a contract asks for."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from ovplace.plugins.registry import Plugin


@dataclass(frozen=True)
class Config:
    pass


def as_plugin(role, **factory):
    """Return a plug-in of a role; `factory` is its class, by the name that it has in modules of the role."""
    module = ModuleType("broken")
    vars(module).update(Config=Config, **factory)
    return Plugin(role, "broken", module)


@contextmanager
def written_plugin(role, text, folder, monkeypatch):
    """Yield a plug-in of a role whose module is a file in `folder`, so that other processes can import it, too."""
    name = f"written_{role}"
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    try:
        yield Plugin(role, "broken", import_module(name))
    finally:
        sys.modules.pop(name, None)
