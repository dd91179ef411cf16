"""The hook that reads a commit's message: what it lets pass, and what it says of the rest."""

import subprocess
import sys
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[1] / ".ci" / "commit_subject.py"


def check(text, tmp_path):
    (tmp_path / "message").write_text(text)
    return subprocess.run([sys.executable, HOOK, tmp_path / "message"], capture_output=True, text=True, check=False)


def test_an_area_and_what_is_done_pass(tmp_path):
    for text in ("cost: name the solvers once\n\nThe why.\n", "ir, measure: document arguments\n", "Revert 'x'\n"):
        assert check(text, tmp_path).returncode == 0


@pytest.mark.parametrize(("text", "said"), [("Big change", "does not begin with an area"), ("a: " + "b" * 70, "73")])
def test_other_subjects_are_refused(tmp_path, text, said):
    done = check(f"# a comment\n{text}\n", tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
