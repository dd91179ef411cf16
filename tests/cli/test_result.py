"""The verdict in words."""

from dataclasses import replace

import pytest

from ovplace.cli.output.result import interval, label, show_result, verdict_lines
from ovplace.cli.output.tables import MAX_CELL, show_table
from ovplace.core.statistics import Interval
from ovplace.core.verdict import LEVEL, Status, Verdict
from ovplace.testing.results import baseline_summary, device_summary, run_result

VERDICT = Verdict(
    Status.FASTER, "CPU", Interval(0.47, 0.46, 0.5, LEVEL), null_control=Interval(1.02, 1.0, 1.04),
    defaults={"CPU (default precision)": Interval(0.8, 0.7, 0.9)}, notes=("a note",),
)  # fmt: skip
RESULT = run_result(
    devices=(
        device_summary("GPU", emulated=True, default_precision="f16"),
        device_summary("CPU", default_precision="bf16"),
    ),
    baselines=(
        baseline_summary("CPU"),
        baseline_summary("CPU (default precision)", max_rel_error=0.002, competes=False),
    ),
    verdict=VERDICT,
)


def said(**changes):
    verdict = replace(VERDICT, **changes)
    origin = "cut" if verdict.status == Status.FASTER else verdict.against
    return "\n".join(verdict_lines(replace(RESULT, verdict=verdict, best=replace(RESULT.best, origin=origin))))


def test_faster():
    text = said()
    assert "3 operations on GPU (emulated), 7 operations on CPU; 3 submodels, 2.0 KiB across" in text
    assert "53 % less time than CPU: ratio 0.470 [0.460, 0.500] (98 %)" in text
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
    found = Interval(ratio, ratio - 0.01, ratio + 0.02) if ratio else None
    text = said(status=Status(status), ratio=found, null_control=None)
    assert words in text
    assert "less time" not in text
    assert "default precision" not in text


def test_emulated_devices_are_always_called_that():
    assert label(RESULT, "HETERO:GPU,CPU (automatic)") == "HETERO:GPU (emulated),CPU (automatic)"
    assert label(RESULT, "GPU_F16") == "GPU_F16"
    assert label(RESULT, "GPU.1") == "GPU.1"


def test_the_table(capsys, tmp_path):
    broken = baseline_summary("GPU", latency_ms=None, ratio=None, max_rel_error=None, error="compile: no\nkernel")
    automatic = baseline_summary("AUTO:GPU,CPU", runs_on="GPU.0", competes=False)
    show_result(replace(RESULT, baselines=(*RESULT.baselines, broken, automatic), folder=tmp_path))
    out = capsys.readouterr().out
    rows = {line.split("  ")[0]: line for line in out.splitlines()}
    assert rows["GPU (emulated)"].endswith("compile: no kernel")
    assert rows["AUTO:GPU (emulated),CPU"].endswith("does not compete, runs on GPU (emulated)")
    assert rows["found by cut"].split()[-5:] == ["1e-07", "against", "CPU,", "in", "turns"]
    assert interval(Interval(5.0, 5.0, 5.0)) == "one sample"
    assert rows["CPU"].split() == ["CPU", "5.000", "[4.900,", "5.100]", "1.000", "0"]


def test_only_lines_of_the_final_comparison_have_milliseconds_beside_the_answer(capsys):
    disturbed = baseline_summary("CPU", latency_ms=Interval(29.4, 22.7, 65.7), final_latency_ms=Interval(8.2, 8.1, 8.3))
    baselines, verdict = (disturbed, baseline_summary("GPU", ratio=3.0)), replace(VERDICT, defaults={})
    show_result(replace(RESULT, baselines=baselines, verdict=verdict))
    rows = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert rows["CPU"] == ["CPU", "8.200", "[8.100,", "8.300]", "1.000", "0"]
    assert rows["GPU (emulated)"] == ["GPU", "(emulated)", "-", "-", "3.000", "0"]


def test_a_cell_is_one_line_of_limited_length(capsys):
    show_table(("name", "text"), [("a", "long " * 50), ("b", "two\nlines")])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == len("name") + 2 + MAX_CELL
    assert lines[2].endswith("…")
    assert lines[3] == "b     two lines"
