"""Mutation testing: a fault is seen by a test that looks, not by one that does not, and nothing else is touched."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SOURCE = '''
"""Words."""
LIMIT = 3


def less(a: "int", b: int) -> bool:
    """Say whether a is less."""
    if a < 0:
        raise ValueError(f"{a} is negative")
    return a < b
'''


@pytest.fixture(autouse=True)
def root(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(ROOT)


def module(name):
    return importlib.import_module(f"benchmarks.{name}")


def test_mutations_are_those_that_a_test_could_see():
    error = "raise ValueError(f'{a} is negative')"
    found = [str(one) for one in module("mutants.operators").mutations(SOURCE)]
    assert sorted(found) == sorted(
        [
            "3: constant: 3 -> 4",
            f"8: condition: if a < 0: {error} -> if not a < 0: {error}",
            "8: comparison: a < 0 -> a <= 0",
            "8: constant: 0 -> 1",
            "9: removal: raise ValueError(f'{a} is negative') -> pass",
            "10: return: return a < b -> return None",
            "10: comparison: a < b -> a <= b",
        ]
    )


def test_what_another_system_runs_is_left_as_it_is():
    source = "if sys.platform == 'win32':\n    x = 1 + 2\nelse:\n    x = 3 + 4\n"
    assert {one.line for one in module("mutants.operators").mutations(source)} == {1, 4}


def test_each_mutation_changes_one_place():
    for one in module("mutants.operators").mutations(SOURCE):
        changed = ast.unparse(one.applied(SOURCE)).splitlines()
        same = ast.unparse(ast.parse(SOURCE)).splitlines()
        assert 1 <= sum(a != b for a, b in zip(same, changed, strict=False)) + abs(len(same) - len(changed)) <= 2


FORK = """
import ast
from pathlib import Path
from benchmarks.mutants.runner import Fault, passes
path = Path("mine.py").resolve()
for tree in (path.read_text(), "def double(n): return n + 3", "def double(n): return 2 + n"):
    print(passes(["test_mine.py"], 60, Fault("mine", path, ast.parse(tree))))
print(passes(["test_mine.py"], 1.0, Fault("mine", path, ast.parse("while True: pass"))))
"""


def test_a_fault_fails_the_test_that_sees_it_and_no_other(tmp_path):
    (tmp_path / "mine.py").write_text("def double(n): return 2 * n", "utf-8")
    (tmp_path / "test_mine.py").write_text("import mine\ndef test_double(): assert mine.double(2) == 4", "utf-8")
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["True", "False", "True", "None"], done.stderr


CONFINED = """
import os, sqlite3, subprocess, sys, tempfile
from pathlib import Path
from benchmarks.mutants.confined import confine
folder, other = Path(sys.argv[1]), int(sys.argv[2])
(folder / "inside").mkdir()
confine(folder / "inside")
sqlite3.connect(Path(":memory:")).close()
others = [lambda: os.kill(other, 15), lambda: os.kill(-1, 15)]
for act in (*others, lambda: os.remove(folder / "kept"), lambda: sqlite3.connect("mine.db")):
    try:
        act()
    except PermissionError:
        print("refused")
with tempfile.NamedTemporaryFile():
    pass
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
child.terminate()
print(child.wait())
"""


def test_a_fault_cannot_strike_what_is_not_its_own(tmp_path):
    (tmp_path / "kept").write_text("", "utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        call = [sys.executable, "-c", CONFINED, str(tmp_path), str(other.pid)]
        done = subprocess.run(call, env=env, capture_output=True, text=True, check=False)
        assert other.poll() is None
        other.kill()
    assert done.stdout.split() == ["refused", "refused", "refused", "refused", "-15"], done.stderr
    assert (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"), [(0, 0, 0, 1), (85, 100, 0.7672, 0.9069), (10, 10, 0.7225, 1)]
)
def test_the_interval_is_wilsons(successes, n, low, high):
    assert module("robustness.mutation").interval(successes, n) == pytest.approx((low, high), abs=1e-4)
