"""Plug-ins are found by file name or entry point, without importing them.

A file `ovplace/placers/cut.py` is the placer `cut`; another package adds one with an entry point in the group
`ovplace.placers` whose value is a module of the same form. Files whose name begins with `_` are not plug-ins.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ovplace.core.build_dataclass import build_dataclass
from ovplace.errors import UsageError

if TYPE_CHECKING:
    from ovplace.plugins.protocols import Trainer

ROLES = {
    "features": "Feature",
    "coarseners": "Coarsener",
    "placers": "Placer",
    "backends": "Backend",
    "exporters": "Exporter",
}
"""Plug-in folder (and entry-point group, behind `ovplace.`) -> name of the class a plug-in module holds."""


EXTRAS = {"torch": "ovplace[learned]", "torch_geometric": "ovplace[learned]"}
"""Package that plug-ins import at once -> what pip is to install; others say what they lack when they are used."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in; nothing else reads the names of its module, which `protocols.PluginModule` declares.

    Attributes:
        role: its folder, a key of `ROLES`.
        name: its file name or entry-point name.
        module: where it lives.
    """

    role: str
    name: str
    module: ModuleType

    @property
    def summary(self) -> str:
        """Summary in one line."""
        return str(self._named("SUMMARY")) or (self.module.__doc__ or "").split("\n")[0]

    @property
    def Config(self) -> Any:  # noqa: N802 - it is a class
        """Its frozen dataclass of settings."""
        return self.module.Config

    @property
    def factory(self) -> Any:
        """Its class."""
        return getattr(self.module, ROLES[self.role])

    @property
    def presets(self) -> Mapping[str, Mapping[str, object]]:
        """Settings by the name of the preset."""
        found: Mapping[str, Mapping[str, object]] = self._named("PRESETS")
        return found

    @property
    def features(self) -> tuple[str, ...]:
        """Node features that a placer wants where the user names none."""
        return tuple(self._named("FEATURES"))

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Meaning of the columns of a feature."""
        return tuple(self._named("VOCABULARY"))

    @property
    def trainer(self) -> type[Trainer] | None:
        """Class that trains a placer's policy, None where there is nothing to train."""
        found: type[Trainer] | None = self._named("Trainer")
        return found

    def config(self, values: Mapping[str, object]) -> Any:
        """Return its settings with `values` over those of the preset that they name, over the defaults.

        Raises:
            ConfigError: an unknown key or a value of the wrong type.
        """
        chosen = self.presets.get(str(values.get("preset", "")), {})
        of = f" of the {self.role[:-1]} '{self.name}'"
        return build_dataclass(self.Config, {**chosen, **values}, self._section, of)

    @property
    def _section(self) -> str:
        """Section of its settings, as they are typed: a run has one placer, and a form of export has no section."""
        name = f'"{self.name}"' if "." in self.name else self.name
        return {"features": f"features.{name}", "exporters": ""}.get(self.role, self.role[:-1])

    def _named(self, name: str) -> Any:
        from ovplace.plugins.protocols import PluginModule

        return getattr(self.module, name, getattr(PluginModule, name))


def names(role: str) -> list[str]:
    """Return the names of all plug-ins of a role, sorted, importing none."""
    return sorted(_locations(role))


def load(role: str, name: str) -> Plugin:
    """Import a plug-in.

    Args:
        role: a key of `ROLES`.
        name: its file name or entry-point name; or the dotted path of a module that holds one.

    Raises:
        UsageError: there is none of that name, the module cannot be imported, or it does not hold what `protocols`
            declares.
    """
    location, kind = _location(role, name), ROLES[role]
    if location == name and not _binds(location, kind):
        raise UsageError(f"'{name}' is no {role[:-1]}: {name} has no class '{kind}', and is not imported")
    module = _imported(location, f"the {role[:-1]} '{name}'")
    if lack := _lack(module, kind):
        raise UsageError(f"'{name}' is no {role[:-1]}: {module.__name__}{lack}")
    return Plugin(role, name, module)


def _imported(location: str, what: str) -> ModuleType:
    """Import the module of a plug-in, which another package may have written."""
    try:
        return importlib.import_module(location)
    except ModuleNotFoundError as error:
        if error.name and f"{location}.".startswith(f"{error.name}."):
            raise UsageError(f"{what} is missing: there is no module '{location}'; install its package anew") from error
        package = EXTRAS.get(error.name or "", error.name)
        raise UsageError(f"{what} needs {error.name}; pip install '{package}'") from error
    except (Exception, SystemExit) as error:  # whatever its author left in it
        raise UsageError(
            f"{what} cannot be imported: {type(error).__name__}: {error}; correct {location}, or what it imports"
        ) from error


def _lack(module: ModuleType, kind: str) -> str:
    """Return what a module lacks of a plug-in, to be written behind its name; empty where it lacks nothing."""
    from ovplace.plugins import protocols

    found, config = getattr(module, kind, None), getattr(module, "Config", None)
    if not isinstance(found, type):
        return f" has no class '{kind}'"
    if not issubclass(found, getattr(protocols, kind)):
        return f".{kind} does not inherit {protocols.__name__}.{kind}"
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        return f".{kind} does not define {', '.join(missing)}"
    if not (isinstance(config, type) and dataclasses.is_dataclass(config)):
        return " has no dataclass 'Config'"
    try:
        _check_defaults(config)
    except Exception as error:  # its __post_init__ is another's code
        return f".Config needs a default and a type for every field: {error}"
    return "" if isinstance(getattr(module, "PRESETS", {}), Mapping) else ".PRESETS is not a mapping"


def _check_defaults(config: Any) -> None:
    """Check that a run can be kept with the default settings of a plug-in: they are written as TOML, and read."""
    values = {key: value for key, value in dataclasses.asdict(config()).items() if value is not None}
    json.dumps(values, default=_not_in_toml)
    build_dataclass(config, values, "")


def _not_in_toml(value: object) -> None:
    raise TypeError(f"a run keeps its settings as TOML, which has no {type(value).__name__}")


def summary(role: str, name: str) -> str:
    """Return a plug-in's summary without importing it; empty where `SUMMARY` is no plain text, or cannot be read.

    Args:
        role: a key of `ROLES`.
        name: its file name or entry-point name.

    Raises:
        UsageError: there is none of that name.
    """
    location = _location(role, name)
    try:
        statements = _statements(location)
    except (UsageError, ImportError, ValueError):  # a list of plug-ins says what the others are
        return ""
    if (text := _plain_summary(statements)) is not None:
        return text
    docstring = ast.get_docstring(ast.Module(list(statements), []), clean=False)
    return (docstring or "").split("\n")[0]


def _plain_summary(statements: Sequence[ast.stmt]) -> str | None:
    """Return the text of `SUMMARY`; empty where it is no plain text, None where there is none."""
    for node in statements:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="SUMMARY")], value=value)
                | ast.AnnAssign(target=ast.Name(id="SUMMARY"), value=value)
            ):
                return (str(value.value) or None) if isinstance(value, ast.Constant) else ""
            case ast.ImportFrom(names=names) if "SUMMARY" in {alias.asname or alias.name for alias in names}:
                return ""
    return None


def _location(role: str, name: str) -> str:
    """Return the dotted path of a plug-in's module."""
    locations = _locations(role) | _dotted(name)
    if name not in locations:
        near = difflib.get_close_matches(name, locations, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"unknown {role[:-1]} '{name}'; {hint}there are: {', '.join(sorted(locations))}")
    return locations[name]


def _dotted(name: str) -> dict[str, str]:
    try:
        return {name: name} if "." in name and _spec(name) else {}
    except (ImportError, ValueError):
        return {}


def _spec(module: str) -> ModuleSpec | None:
    """Return where a module lies; `importlib.util.find_spec` imports the packages around it, which may do anything."""
    first, *rest = module.split(".")
    spec = importlib.util.find_spec(first)
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(part, spec.submodule_search_locations)
    return spec


def _binds(module: str, name: str) -> bool:
    """Return whether a module defines a name, by its source: a run folder names plug-ins, and may name anything."""
    if module in sys.modules:
        return True
    for node in _statements(module):
        match node:
            case ast.ClassDef(name=found) if found == name:
                return True
            case ast.ImportFrom(names=names) if name in {alias.asname or alias.name for alias in names}:
                return True
    return False


def _statements(module: str) -> Sequence[ast.stmt]:
    """Return the statements of a module's source; none where it has no source."""
    spec = _spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return []
    try:
        return ast.parse(Path(spec.origin).read_bytes(), spec.origin).body
    except (OSError, ValueError, SyntaxError) as error:
        raise UsageError(
            f"cannot read the source of '{module}': {error}; correct it, or name another module"
        ) from error


def _locations(role: str) -> dict[str, str]:
    folder = Path(__file__).parents[1] / role
    files = (*folder.glob("[!_]*.py"), *(path.parent for path in folder.glob("[!_]*/__init__.py")))
    found = {path.stem: f"ovplace.{role}.{path.stem}" for path in files}
    return _installed(f"ovplace.{role}", tuple(sys.path)) | found  # ovplace's own keep their names


@functools.cache  # reads the metadata of all installed packages: 4 ms, and a grid of 250 runs asks a thousand times
def _installed(group: str, path: tuple[str, ...]) -> dict[str, str]:
    """Return the modules of an entry-point group by name, of the packages on `path`; some may be misspelt."""
    return {point.name: re.split(r"[:\[]", point.value)[0].strip() for point in entry_points(group=group)}
