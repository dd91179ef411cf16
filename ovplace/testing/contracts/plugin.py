"""Contract tests that plug-ins of all roles share; the contract of each role inherits them."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ovplace.plugins import protocols
from ovplace.plugins.registry import ROLES, Plugin


class PluginContract:
    """Checks the module of a plug-in; a subclass defines the fixture `plugin`."""

    @pytest.fixture
    def plugin(self) -> Plugin:
        """Return the plug-in to check."""
        raise NotImplementedError(f"give {type(self).__name__} a 'plugin' fixture")

    def test_settings_are_frozen_data(self, plugin: Plugin) -> None:
        """`Config` has defaults, is plain data and cannot be changed."""
        config = plugin.Config()
        json.dumps(dataclasses.asdict(config))
        with pytest.raises(dataclasses.FrozenInstanceError):
            config.anything = 1

    def test_settings_are_built_from_what_they_say(self, plugin: Plugin) -> None:
        """A stored configuration, presets included, is read back as the same one."""
        for preset in ({}, *({"preset": name} for name in plugin.presets)):
            config = plugin.config(preset)
            assert plugin.config(dataclasses.asdict(config)) == config

    def test_inherits_its_role(self, plugin: Plugin) -> None:
        """The class inherits the one that `protocols` declares, and the summary is one line."""
        assert issubclass(plugin.factory, getattr(protocols, ROLES[plugin.role]))
        assert plugin.summary.strip()
        assert "\n" not in plugin.summary
