"""The plug-ins of a run with typed settings, and the run in which their tables are complete."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any

from ovplace.config.files import absolute
from ovplace.config.schema import RunConfig
from ovplace.core.device import Device
from ovplace.errors import ConfigError
from ovplace.plugins import registry
from ovplace.plugins.blame import blaming
from ovplace.plugins.registry import Plugin


@dataclass(frozen=True)
class ChosenPlugin:
    """A plug-in with its settings.

    Attributes:
        plugin: the plug-in.
        settings: its `Config`.
    """

    plugin: Plugin
    settings: Any

    @property
    def factory(self) -> Any:
        """Its class, for what is asked before it is built."""
        return self.plugin.factory

    @property
    def options(self) -> dict[str, object]:
        """All its settings as plain data."""
        return asdict(self.settings)

    def build(self, *arguments: object) -> Any:
        """Return an instance of its class, built from `arguments` and the settings."""
        with self.blaming():
            return self.factory(*arguments, self.settings)

    def blaming(self) -> AbstractContextManager[None]:
        """Name the plug-in in errors that it raises while a block runs, if another package has written it."""
        return blaming(self.factory, f"the {self.plugin.role[:-1]} '{self.plugin.name}'")


class ChosenPlacer(ChosenPlugin):
    """A placer with its settings."""

    def needs_costs(self) -> bool:
        """Return whether the model has to be profiled before it is built."""
        with self.blaming():
            return bool(self.factory.needs_costs(self.settings))


class ChosenBackend(ChosenPlugin):
    """A backend with its settings; it is built from a job with its `options` instead of `build`."""

    def problem(self) -> str:
        """Return why it cannot work on this machine, and what to do; empty where it can."""
        with self.blaming():
            return str(self.factory.available())

    def own_devices(self) -> tuple[str, tuple[Device, ...]] | None:
        """Return the name and the devices of the machine that it stands for; None for this machine's devices.

        Raises:
            UsageError: the backend fails, or returns something else.
        """
        with self.blaming():
            own = self.factory.own_devices(self.settings)
            if own is None:
                return None
            name, devices = own
            if not devices or not all("full_name" in device.facts for device in devices):
                raise ValueError("own_devices() must return devices, each with the fact 'full_name'")
        return str(name), tuple(devices)

    def digest(self) -> str:
        """Return a hash of the machine that it stands for; empty for this machine."""
        with self.blaming():
            return str(self.factory.digest(self.settings))


@dataclass(frozen=True)
class ChosenPlugins:
    """All plug-ins of a run.

    Attributes:
        placer: what proposes placements.
        coarsener: what groups operations.
        backend: what measures.
        features: what describes operations: those the user named, else those the placer wants.
    """

    placer: ChosenPlacer
    coarsener: ChosenPlugin
    backend: ChosenBackend
    features: tuple[ChosenPlugin, ...]


def choose_plugin(role: str, name: str, table: Mapping[str, object] | None = None) -> ChosenPlugin:
    """Return a plug-in with its settings.

    Args:
        role: a key of `registry.ROLES`.
        name: its name.
        table: its settings as TOML or `--set` give them; defaults by default.

    Raises:
        UsageError: there is no such plug-in.
        ConfigError: a setting is not understood.
    """
    return ChosenPlugin(*_loaded(role, name, table or {}))


def _loaded(role: str, name: str, table: Mapping[str, object]) -> tuple[Plugin, Any]:
    plugin = registry.load(role, name)
    return plugin, plugin.config(table)


def choose(config: RunConfig) -> ChosenPlugins:
    """Return the plug-ins of a run; `RunConfig.plugins` does it once.

    Raises:
        UsageError: a plug-in is unknown.
        ConfigError: a setting is not understood, or `search.machine` or `search.policy` was not resolved.
    """
    search = config.search
    if search.machine or search.policy:
        raise ConfigError(
            "'search.machine' and 'search.policy' must be resolved first; "
            "get the configuration from ovplace.session.configure.effective"
        )
    placer = ChosenPlacer(*_loaded("placers", search.placer, config.placer))
    for section, tables in (("features", config.features), ("devices", config.devices)):
        for name, table in tables.items():
            if not isinstance(table, Mapping):
                raise ConfigError(f"'{section}.{name}' must be a table of settings, got '{table}'")
    for name, table in config.features.items():
        choose_plugin("features", name, table)
    return ChosenPlugins(
        placer=placer,
        coarsener=choose_plugin("coarseners", search.coarsener, config.coarsener),
        backend=ChosenBackend(*_loaded("backends", search.backend, config.backend)),
        features=tuple(
            choose_plugin("features", name, config.features.get(name))
            for name in search.features or placer.plugin.features
        ),
    )


def resolved(config: RunConfig) -> RunConfig:
    """Return the same run with plug-in tables complete and of the types of the plug-ins' `Config`.

    Two runs that do the same are equal after it, whether a setting was given as text, as a number or not at all. The
    inputs have their absolute path, because a run is read from other folders than it began in.

    Raises:
        UsageError: a plug-in is unknown.
        ConfigError: a setting is not understood.
    """
    plugins = config.plugins
    features = {name: choose_plugin("features", name, table).options for name, table in config.features.items()}
    features |= {feature.plugin.name: feature.options for feature in plugins.features}
    return replace(
        config,
        search=replace(config.search, input=absolute(config.search.input)),
        placer=plugins.placer.options,
        coarsener=plugins.coarsener.options,
        backend=plugins.backend.options,
        features={name: table for name, table in features.items() if table},
    )
