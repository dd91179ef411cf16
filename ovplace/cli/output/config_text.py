"""A configuration as TOML in which every setting is explained."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping

from ovplace.cli.output.settings_doc import Setting, settings
from ovplace.config.schema import RunConfig
from ovplace.config.toml import value_text
from ovplace.plugins import registry

_PLUGINS = {"placer": "placers", "coarsener": "coarseners", "backend": "backends"}
_HEAD = "Settings of a run. A file given by --config overrides these, --set overrides the file, options override both."


def documented(config: RunConfig) -> str:
    """Return `config` as TOML with each key's meaning above it; keys without a value are comments."""
    return "\n".join(_lines(config)) + "\n"


def _lines(config: RunConfig) -> Iterator[str]:
    yield from _comment(_HEAD)
    for name in ("search", "measure", "duel"):
        section = getattr(config, name)
        yield from _section(name, settings(type(section)), dataclasses.asdict(section))
    for name, role in _PLUGINS.items():
        plugin = registry.load(role, getattr(config.search, name))
        values = dataclasses.asdict(plugin.config(dict(getattr(config, name))))
        yield from _section(name, settings(plugin.Config), values, f"Of the {name} '{plugin.name}': {plugin.summary}.")
    yield ""
    yield from _comment("Device variants: -d may name them, and without -d they are all meant.")
    if config.devices:
        for name, table in config.devices.items():
            yield f"[devices.{name}]"
            yield from (f"{key} = {value_text(value)}" for key, value in dict(table).items())  # type: ignore[call-overload]
    else:
        yield "# [devices.CPU_BF16]"
        yield '# base = "CPU"'
        yield '# properties = {INFERENCE_PRECISION_HINT = "bf16"}'


def _section(name: str, keys: list[Setting], values: Mapping[str, object], about: str = "") -> Iterator[str]:
    yield ""
    yield from _comment(about)
    yield f"[{name}]"
    for key in keys:
        yield from _comment(key.doc)
        value = values[key.name]
        yield f"# {key.name} =" if value is None else f"{key.name} = {value_text(value)}"


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, 110)]
