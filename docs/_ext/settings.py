"""The directives `settings`, `training` and `plugins`: tables of settings, from the dataclasses that define them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ovplace.cli.output.settings_doc import documented_settings
from ovplace.config.schema import RunConfig
from ovplace.core.text.markdown_table import pipe_table
from ovplace.plugins import registry
from ovplace.train.training_config import TrainConfig


class Settings(SphinxDirective):
    """Describe each typed section of a run's configuration."""

    def run(self) -> list[nodes.Node]:
        """Return a section of the page for each section of the configuration."""
        return self.parse_text_to_nodes("\n\n".join(_sections()), allow_section_headings=True)


class Training(SphinxDirective):
    """Describe the section `[train]` of a training's configuration."""

    def run(self) -> list[nodes.Node]:
        """Return the table of its settings."""
        return self.parse_text_to_nodes(_table(TrainConfig))


class Plugins(SphinxDirective):
    """Describe every plug-in of a role that ovplace comes with: `{plugins} placers`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a section for each plug-in."""
        text = "\n\n".join(_plugins(self.arguments[0]))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _sections() -> Iterator[str]:
    defaults = RunConfig()
    for field in dataclasses.fields(RunConfig):
        kind = type(getattr(defaults, field.name))
        if dataclasses.is_dataclass(kind):
            yield f"## `[{field.name}]`"
            yield _table(kind)


def _plugins(role: str) -> Iterator[str]:
    for name in registry.names(role):
        plugin = registry.load(role, name)
        yield f"### `{name}`"
        yield plugin.summary[0].upper() + plugin.summary[1:] + "."
        if dataclasses.fields(plugin.Config):
            yield _table(plugin.Config)
        for preset, values in plugin.presets.items():
            yield f"Preset `{preset}`: {_changes(values, plugin.presets) or 'the defaults'}."


def _changes(values: Mapping[str, object], presets: Mapping[str, Mapping[str, object]]) -> str:
    """Return the settings of a preset; those of the first one with the same keys are not repeated."""
    name, first = next((name, found) for name, found in presets.items() if found.keys() == values.keys())
    own = {key: value for key, value in values.items() if first is values or first[key] != value}
    changes = ", ".join(f"`{key}={_value(value)}`" for key, value in own.items())
    return changes if first is values else f"as `{name}`, with {changes}"


def _table(kind: type) -> str:
    rows = [(f"`{s.name}`", f"`{_value(s.default)}`", s.doc) for s in documented_settings(kind)]
    return pipe_table(("key", "default", "meaning"), rows)


def _value(default: object) -> str:
    return "none" if default is None else json.dumps(default)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("settings", Settings)
    app.add_directive("training", Training)
    app.add_directive("plugins", Plugins)
    return {"parallel_read_safe": True}
