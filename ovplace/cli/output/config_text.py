"""A configuration as TOML in which every setting is explained."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from ovplace.cli.output.settings_doc import Setting, documented_settings
from ovplace.cli.output.terminal import columns
from ovplace.config.resolve import ChosenPlugin
from ovplace.config.schema import RunConfig
from ovplace.config.toml import key_text, value_text

_HEAD = "Settings of a run. A file given by --config overrides these, --set overrides the file, options override both."
_WIDTH = 112
"""Columns of the comments, fewer on a narrow terminal."""

_FEATURES = "Settings of node features, a section for each that has any."
_DEVICES = "Device variants: -d may name them, and without -d they are all meant."


def documented(config: RunConfig) -> str:
    """Return `config` as TOML with each key's meaning above it; keys without a value are comments."""
    return "\n".join(_lines(config)) + "\n"


def _lines(config: RunConfig) -> Iterator[str]:
    plugins = config.plugins
    yield from _comment(_HEAD)
    for field in dataclasses.fields(config):
        section = getattr(config, field.name)
        match field.name:
            case "placer" | "coarsener" | "backend":
                yield from _plugin(field.name, field.name, getattr(plugins, field.name))
            case "features":
                yield from ("", *_comment(_FEATURES))
                for feature in plugins.features:
                    if feature.options:
                        yield from _plugin(f"features.{key_text(feature.plugin.name)}", "feature", feature)
            case "devices":
                yield from ("", *_comment(_DEVICES), *_devices(section))
            case _:
                yield from _section(field.name, documented_settings(type(section)), dataclasses.asdict(section))


def _devices(tables: Mapping[str, Any]) -> Iterator[str]:
    for name, table in tables.items():
        yield f"[devices.{key_text(name)}]"
        yield from (f"{key_text(key)} = {value_text(value)}" for key, value in dict(table).items())
    if not tables:
        yield "# [devices.CPU_BF16]"
        yield '# base = "CPU"'
        yield '# properties = {INFERENCE_PRECISION_HINT = "bf16"}'


def _plugin(section: str, kind: str, chosen: ChosenPlugin) -> Iterator[str]:
    about = f"Of the {kind} '{chosen.plugin.name}': {chosen.plugin.summary}."
    return _section(section, documented_settings(chosen.plugin.Config), chosen.options, about)


def _section(name: str, keys: list[Setting], values: Mapping[str, object], about: str = "") -> Iterator[str]:
    yield ""
    yield from _comment(about)
    yield f"[{name}]"
    for key in keys:
        yield from _comment(key.doc)
        value = values[key.name]
        yield f"# {key.name} =" if value is None else f"{key.name} = {value_text(value)}"


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, min(_WIDTH, columns() or _WIDTH) - 2)]
