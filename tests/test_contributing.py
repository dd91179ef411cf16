"""The walk through CONTRIBUTING.md: its files pass the contracts, and searches run with them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PIPED = {"capture_output": True, "text": True}
SHORT = [
    *("--set", "comparison.rounds=2", "--set", "comparison.blocks=3", "--set", "measure.min_time_ms=0"),
    *("--budget", "3"),
]


class Walk:
    """A folder, called to run Python there."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def __call__(self, *arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, check=False, cwd=self.folder, env=self.environment, **PIPED)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """Write the files of the walk into an empty folder; return what runs Python there."""
    folder = tmp_path_factory.mktemp("walk")
    for name, text in FENCE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for suffix in (".xml", ".bin"):
        shutil.copy((ROOT / "models" / "demo.xml").with_suffix(suffix), folder)
    run = Walk(folder)
    search(run, "run", "--machine", "mine/laptop.toml", "--placer", "mine.shuffle", "--coarsener", "mine.pairs",
           "--set", "search.features=mine.rank")  # fmt: skip
    return run


def search(run, folder, *options):
    run("-c", "from ovplace.cli import main; main()", "optimize", "demo.xml", "-o", folder, "-q", *options, *SHORT)


def test_the_walk_has_one_of_each(walk):
    written = {path.name for path in (walk.folder / "mine").iterdir()}
    assert written >= {
        "rank.py", "pairs.py", "shuffle.py", "count.py", "table.py", "test_mine.py", "laptop.toml", "placers.toml",
        "soon.toml",
    }  # fmt: skip


def test_a_search_runs_with_it(walk):
    result = json.loads((walk.folder / "run" / "result.json").read_text(encoding="utf-8"))
    assert result["environment"]["simulated"] == "laptop"
    search(walk, "counted", "--backend", "mine.count", "--placer", "mine.shuffle")
    counted = json.loads((walk.folder / "counted" / "result.json").read_text(encoding="utf-8"))
    assert counted["environment"]["simulated"] == "counting"
    assert counted["best"]["ops_per_device"]["SLOW"] == 0
    lines = walk(
        "-c", "from ovplace.cli import main; main()", "export", "run", "--to", "mine.table", "--set", "separator=;"
    ).splitlines()
    assert all(line.endswith((";GPU", ";CPU")) for line in lines)
    assert len(lines) == result["model"]["ops"]


@pytest.mark.slow
def test_the_comparison_runs(walk):
    walk("-c", "from ovplace.cli import main; main()", "ablate", "mine/placers.toml", "-o", "compared")
    assert "| cut |" in (walk.folder / "compared" / "ablation.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_suite_runs(walk):
    said = walk("-m", "benchmarks", "run", "mine/soon.toml", "--short", "--jobs", "1", "-o", "published")
    assert "How soon a random search finds anything" in said
    assert "shuffle" in said
    assert list((walk.folder / "published").glob("*.json"))


@pytest.mark.slow
def test_it_passes_the_contracts(walk):
    said = walk("-m", "pytest", "mine/test_mine.py", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
    assert "passed" in said
