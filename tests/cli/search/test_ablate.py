"""`ovplace ablate` on the command line."""

import json
import signal
import subprocess
import time

import pytest

CONFIG = """
[ablation]
models = ["{model}"]
machines = ["null"]
seeds = [0]
[base]
search.placer = "cut"
search.budget = 3
measure.min_time_ms = 0.0
comparison = {{rounds = 2, blocks = 3, finalists = 1, min_time_ms = 0.0}}
[variants]
fine.coarsener.target = 30
"""


@pytest.fixture
def file(detector, tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(CONFIG.format(model=detector))
    return path


def test_run_table_and_json(ovplace, file, tmp_path):
    out = tmp_path / "out"
    empty = ovplace("ablate", file, "-o", out, "--table-only")
    assert empty.out.endswith(": ablation.md, ablation.json, a folder for each run that has begun\n")
    assert empty.code == 0, empty.err
    assert "2 of 2 runs are not finished" in empty.out
    done = ovplace("ablate", file, "-o", out)
    assert done.code == 0, done.err
    assert done.out.startswith("small on null (simulated)\n")
    assert "no inference was run" in done.out
    assert "runs 2/2" in done.err
    rows = [line.split() for line in done.out.splitlines() if line.startswith(("full", "fine"))]
    assert [row[:2] for row in rows] == [["full", "1/1"], ["fine", "1/1"]]
    again = ovplace("ablate", file, "-o", out, "--json", "--jobs", "1")
    data = json.loads(again.out)
    assert data == json.loads(ovplace("ablate", file, "-o", out, "--table-only", "--json").out)
    assert data == json.loads((out / "ablation.json").read_text())
    assert [cell["to_single"]["value"] for cell in data["cells"]] == pytest.approx([1.0, 1.0])  # nothing can be gained


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"null"', '"nul"', "did you mean 'null'?"),
        ("seeds = [0]", "seeds = []", "'ablation.seeds' in"),
        ("fine.coarsener.target", "fine.coarsener.targets", "variant 'fine': unknown key 'coarsener.targets' of"),
        ("[base]", "[base", "is not TOML"),
    ],
)
def test_bad_files(ovplace, file, tmp_path, old, new, said):
    file.write_text(file.read_text().replace(old, new))
    done = ovplace("ablate", file, "-o", tmp_path / "out")
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_bad_arguments(ovplace, file, tmp_path):
    assert ovplace("ablate", "nothing").code == 2
    assert ovplace("ablate", file, "--jobs", "0").code == 2
    both = ovplace("ablate", file, "-o", tmp_path / "out", "--only", "fine/*", "--table-only")
    assert both.code == 2
    assert "--only chooses what to run, and --table-only runs nothing" in both.err
    unknown = ovplace("ablate", file, "-o", tmp_path / "out", "--set", "search.effort=3")
    assert unknown.code == 2
    assert "unknown key 'search.effort'" in unknown.err
    (tmp_path / "file").write_text("")
    assert ovplace("ablate", file, "-o", tmp_path / "file", "--table-only").code == 1


def test_failed_runs_end_with_1(ovplace, file, tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text("<net/>")
    lines = [line for line in file.read_text().splitlines() if not line.startswith("models")]
    file.write_text("\n".join(lines).replace("[ablation]", f'[ablation]\nmodels = ["{broken}"]'))
    done = ovplace("ablate", file, "-o", tmp_path / "out")
    assert done.code == 1
    assert "Failed: full, broken, null, seed 0:" in done.out
    assert "2 of 2 runs failed" in done.err


@pytest.mark.slow
def test_what_failed_in_an_earlier_call_does_not_fail_one_of_other_runs(ovplace, file, tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text("<net/>")
    file.write_text(file.read_text().replace("models = [", f'models = ["{broken}", '))
    assert ovplace("ablate", file, "-o", tmp_path / "out", "--only", "full/broken/*").code == 1
    done = ovplace("ablate", file, "-o", tmp_path / "out", "--only", "*/small/*")
    assert "Failed: full, broken, null, seed 0:" in done.out
    assert done.code == 0, done.err


def test_interrupted(program, file, tmp_path):
    command = [
        *program,
        "ablate",
        str(file),
        "-o",
        str(tmp_path / "out"),
        "--set",
        "search.budget=100000",
        "--jobs",
        "1",
    ]
    with subprocess.Popen([*command, "--set", "search.placer=random"], stderr=subprocess.PIPE, text=True) as process:
        store = tmp_path / "out/full/small/null/0/run.db"
        end = time.monotonic() + 120
        while not store.exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "0 of 2 runs are finished, the same command goes on" in said
