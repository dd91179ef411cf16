"""Contract tests of exporters: inherit `ExporterContract` and define `plugin` and `run` fixtures.

class TestMine(ExporterContract):
    @pytest.fixture
    def plugin(self) -> Plugin:
        return registry.load("exporters", "mine")

    @pytest.fixture
    def run(self) -> Path:
        return Path("runs/demo")  # a finished run
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ovplace.plugins.protocols import Exporter, TextExporter
from ovplace.plugins.registry import Plugin
from ovplace.testing.contracts.plugin import PluginContract


class ExporterContract(PluginContract):
    """Checks an exporter on a finished run; a subclass defines the fixtures `plugin` and `run`."""

    @pytest.fixture
    def run(self) -> Path:
        """Return the folder of a finished run."""
        raise NotImplementedError("give ExporterContract a 'run' fixture")

    @pytest.fixture
    def exporter(self, plugin: Plugin) -> Exporter:
        """Return the exporter, built."""
        built: Exporter = plugin.factory(plugin.Config())
        return built

    def test_writes_where_it_is_told_and_leaves_the_run(self, exporter: Exporter, run: Path, tmp_path: Path) -> None:
        """It returns the files written, all of them at the target, and changes no file of the run."""
        before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
        target = tmp_path / exporter.target
        written = exporter.write(run, target)
        assert written
        for path in written:
            assert path.is_file()
            assert target in (path, *path.parents) or path.parent == target.parent
        assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before

    def test_a_text_is_the_same_in_a_file(self, exporter: Exporter, run: Path, tmp_path: Path) -> None:
        """Standard output and file get the same text, the same each time."""
        if not isinstance(exporter, TextExporter):
            pytest.skip("no text format")
        text = exporter.text(run)
        assert text.endswith("\n")
        (path,) = exporter.write(run, tmp_path / exporter.target)
        assert path.read_text(encoding="utf-8") == text == exporter.text(run)

    def test_advice_is_one_line(self, exporter: Exporter, tmp_path: Path) -> None:
        """The advice after writing is a line or nothing."""
        assert "\n" not in exporter.next_step("runs/demo", [tmp_path / exporter.target])
