"""Without torch everything works but the learned placers, which name the extra that has it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ovplace.plugins import registry

LEARNED = ("fc_grouper", "hierarchical", "hsdag", "placeto", "seq2seq")
WITHOUT = """
import sys
sys.modules["torch"] = sys.modules["torch_geometric"] = None  # importing them fails as if they were not there
from ovplace.cli import main
main(sys.argv[1:])
"""


def without_torch(*words):
    return subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [
    ["config", "show", "--config", "placers/genetic"],
    ["optimize", "demo", "--machine", "null", "--dry-run"],
    ["models", "list"],
], ids=" ".join)  # fmt: skip
def test_other_commands_do_not_miss_it(words):
    done = without_torch(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("words", [
    ["optimize", "demo", "--machine", "null", "--placer", "hsdag"],
    ["optimize", "demo", "--machine", "null", "--policy", "shipped"],
    ["train", "placeto"],
], ids=" ".join)  # fmt: skip
def test_learned_placers_name_the_extra(words, tmp_path):
    done = without_torch(*words, "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "needs torch; pip install 'ovplace[learned]'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_all_placers_are_listed():
    lines = without_torch("placers").stdout.splitlines()
    listed = {line.split(":")[0].strip() for line in lines if line.startswith("  ") and not line.startswith("    ")}
    assert listed == set(registry.names("placers"))
    assert sum("pip install 'ovplace[learned]'" in line for line in lines) == len(LEARNED)
