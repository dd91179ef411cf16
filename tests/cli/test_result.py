"""The verdict in words."""

import copy

import pytest

from ovplace.api import Run
from ovplace.cli.output.result import interval, label, show_result, verdict_lines

LATENCY = {"median": 5.0, "ci95": [4.9, 5.1]}
BASELINE = {"ratio": 1.0, "competes": True, "submodels": [], "runs_on": "", "max_rel_error": 0.0, "error": None}
DATA = {
    "devices": [
        {"name": "GPU", "base": "GPU", "emulated": True, "default_precision": "f16"},
        {"name": "CPU", "base": "CPU", "emulated": False, "default_precision": "bf16"},
    ],
    "baselines": [
        BASELINE | {"name": "CPU", "latency_ms": LATENCY},
        BASELINE
        | {"name": "CPU (default precision)", "latency_ms": LATENCY, "max_rel_error": 0.002, "competes": False},
    ],
    "best": {
        "origin": "cut",
        "latency_ms": LATENCY,
        "ops_per_device": {"GPU": 3, "CPU": 7},
        "submodels": ["CPU", "GPU", "CPU"],
        "cut_bytes": 2048,
    },
    "accuracy": {"outputs": [{"max_rel": 1e-7}]},
    "verdict": {
        "status": "faster",
        "against": "CPU",
        "ratio": 0.47,
        "ci95": [0.46, 0.5],
        "null_control": {"ratio": 1.02, "ci95": [1.0, 1.04]},
        "defaults": {"CPU (default precision)": {"ratio": 0.8, "ci95": [0.7, 0.9]}},
        "notes": ["a note"],
    },
}


def said(**verdict):
    data = copy.deepcopy(DATA)
    data["verdict"] |= verdict
    data["best"]["origin"] = "cut" if data["verdict"]["status"] == "faster" else data["verdict"]["against"]
    return "\n".join(verdict_lines(data))


def test_faster():
    text = said()
    assert "3 operations on GPU (emulated), 7 operations on CPU; 3 submodels, 2.0 KiB across" in text
    assert "53 % less time than CPU: ratio 0.470 [0.460, 0.500]" in text
    assert "Against CPU at its default precision (bf16): ratio 0.800 [0.700, 0.900]" in text
    assert "off by 0.002" in text
    assert "Null control, the same cut between CPU and an identical CPU: ratio 1.020" in text
    assert "Note: a note." in text


@pytest.mark.parametrize(
    ("status", "ratio", "words"),
    [
        ("baseline", 1.05, "CPU is the answer: the best other placement is slower, ratio 1.050"),
        ("same", 0.99, "CPU is the answer: the best other placement cannot be told from it, ratio 0.990"),
        ("baseline", None, "CPU is the answer."),
    ],
)
def test_not_faster(status, ratio, words):
    ci95 = [ratio - 0.01, ratio + 0.02] if ratio else None
    text = said(status=status, ratio=ratio, ci95=ci95, null_control=None)
    assert words in text
    assert "less time" not in text
    assert "default precision" not in text


def test_emulated_devices_are_always_called_that():
    assert label(DATA, "HETERO:GPU,CPU (automatic)") == "HETERO:GPU (emulated),CPU (automatic)"
    assert label(DATA, "GPU_F16") == "GPU_F16"
    assert label(DATA, "GPU.1") == "GPU.1"


def test_the_table(capsys, tmp_path):
    data = copy.deepcopy(DATA)
    broken = {"latency_ms": None, "ratio": None, "max_rel_error": None, "error": "compile: no\nkernel"}
    data["baselines"] += [
        BASELINE | {"name": "GPU"} | broken,
        BASELINE | {"name": "AUTO:GPU,CPU", "latency_ms": LATENCY, "runs_on": "GPU.0", "competes": False},
    ]
    show_result(Run(tmp_path, data))
    out = capsys.readouterr().out
    rows = {line.split("  ")[0]: line for line in out.splitlines()}
    assert rows["GPU (emulated)"].endswith("compile: no kernel")
    assert rows["AUTO:GPU (emulated),CPU"].endswith("does not compete, runs on GPU (emulated)")
    assert rows["found by cut"].split()[-5:] == ["1e-07", "against", "CPU,", "in", "turns"]
    assert interval([5.0, 5.0]) == "one sample"
    assert rows["CPU"].split() == ["CPU", "5.000", "[4.900,", "5.100]", "1.000", "0"]
