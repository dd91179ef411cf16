from __future__ import annotations

from pathlib import Path

import pytest

import ovplace
from ovplace.plugins import registry
from ovplace.plugins.protocols import Exporter
from ovplace.testing.contracts.exporter import ExporterContract

MODEL = Path(__file__).parents[2] / "models" / "demo.xml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a finished run on the devices of this machine: a blob needs real ones."""
    folder = tmp_path_factory.mktemp("exported") / "run"
    quick = ["comparison.rounds=2", "comparison.blocks=3", "comparison.min_time_ms=0", "measure.min_time_ms=0"]
    ovplace.optimize(MODEL, folder, settings=quick, device="CPU", budget=1)
    return folder


class TestEveryExporter(ExporterContract):
    @pytest.fixture(params=registry.names("exporters"))
    def plugin(self, request):
        return registry.load("exporters", request.param)

    @pytest.fixture
    def run(self, finished):
        return finished


def test_every_form_has_a_name_of_its_own_in_the_run_folder():
    targets = [registry.load("exporters", name).factory.target for name in registry.names("exporters")]
    assert len({*targets, Exporter.target}) == len(targets) + 1


class Stray(Exporter):
    """Writes next to nothing it was told."""

    def write(self, folder, target):
        (folder / "stray.txt").write_text("x")
        return [folder / "stray.txt"]


def test_a_defect_is_seen(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(AssertionError):
        ExporterContract().test_writes_where_it_is_told_and_leaves_the_run(
            Stray(None), tmp_path / "run", tmp_path / "out"
        )
