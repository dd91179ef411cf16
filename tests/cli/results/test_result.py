"""The verdict in words."""

import ast
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.cli.output.result import show_result, verdict_lines
from ovplace.cli.output.tables import MAX_CELL, show_table
from ovplace.core.result.labels import label
from ovplace.core.statistics import Interval
from ovplace.core.verdict import LEVEL, Status, Verdict
from ovplace.plugins import registry
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
    assert "3 operations on GPU (emulated), 7 operations on CPU; 3 submodels, 2.0 KiB copied between devices" in text
    assert "53 % less time than CPU: ratio 0.470 [0.460, 0.500] (98 %)" in text
    assert "Against CPU at its default precision (bf16): ratio 0.800 [0.700, 0.900]" in text
    assert "off by 0.002" in text
    assert "Sanity check: the same cut on one device, between CPU and an identical CPU: ratio 1.020" in text
    assert "Note: a note." in text


def test_outputs_of_a_default_precision_that_are_infinitely_off_are_told():
    default = baseline_summary("CPU (default precision)", max_rel_error=float("inf"), competes=False)
    lines = verdict_lines(replace(RESULT, baselines=(baseline_summary("CPU"), default)))
    assert any("ratio 0.800 [0.700, 0.900] (95 %), whose outputs are off by inf." in line for line in lines)


def test_the_sanity_check_names_the_device_that_was_cut():
    assert "between GPU (emulated) and an identical GPU (emulated): ratio 1.020" in said(null_device="GPU")


@pytest.mark.parametrize(
    ("status", "ratio", "words"),
    [
        ("baseline", 1.05, "CPU is the answer: the best other placement takes 5 % more time, ratio 1.050"),
        ("same", 0.99, "CPU is the answer: no placement found is significantly faster, ratio 0.990"),
        (
            "same",
            4.2,
            "CPU is the answer: too few rounds to tell whether the best other placement is faster, ratio 4.2",
        ),
        ("baseline", None, "CPU is the answer."),
    ],
)
def test_not_faster(status, ratio, words):
    low, high = (0.001, 9000.0) if ratio == 4.2 else (0.99 * (ratio or 1), 1.02 * (ratio or 1))
    found = Interval(ratio, low, high) if ratio else None
    text = said(status=Status(status), ratio=found, null_control=None)
    assert words in text
    assert "less time" not in text
    assert "default precision" not in text


def test_emulated_devices_are_always_called_that():
    assert label(RESULT, "HETERO:GPU,CPU (automatic)") == "HETERO:GPU (emulated),CPU (automatic)"
    assert label(RESULT, "GPU_F16") == "GPU_F16"
    assert label(RESULT, "GPU.1") == "GPU.1"


def shown(capsys, result):
    """Return the lines of the table by their names."""
    show_result(result)
    lines = capsys.readouterr().out.splitlines()
    return {line.split("  ")[0]: line for line in lines[: lines.index("")]}


def finally_measured(name, value, of_verdict, **changes):
    """Return a baseline of the final comparison that was timed at another moment, too, on a disturbed machine."""
    latency, of_other = (
        Interval(value, value - 0.1, value + 0.1),
        Interval(of_verdict, of_verdict - 0.02, of_verdict + 0.02, LEVEL),
    )
    disturbed = {"latency_ms": Interval(29.4, 22.7, 65.7), "ratio": 1.7}
    return baseline_summary(name, **disturbed | {"final_latency_ms": latency, "final_ratio": of_other} | changes)


FOUND = replace(RESULT.best, latency_ms=Interval(3.8, 3.7, 3.9), max_rel_error=1e-7)
COMPARED = replace(
    RESULT,
    baselines=(
        finally_measured("CPU", 8.0, 1.0, ratio=1.0),
        baseline_summary("GPU", ratio=3.0, latency_ms=Interval(80.0, 80.0, 80.0)),
        baseline_summary("HETERO:GPU,CPU (automatic)", ratio=1.9),
        finally_measured("CPU (default precision)", 7.2, 0.9, competes=False),
    ),
    verdict=replace(VERDICT, ratio=Interval(0.475, 0.45, 0.5, LEVEL)),
    best=FOUND,
    found=FOUND,
)


def test_the_table(capsys, tmp_path):
    broken = baseline_summary("GPU", latency_ms=None, ratio=None, max_rel_error=None, error="compile: no\nkernel")
    automatic = baseline_summary("AUTO:GPU,CPU", runs_on="GPU.0", competes=False)
    alone = baseline_summary("HETERO:CPU,GPU (automatic)", submodels=("CPU",))
    baselines = (*COMPARED.baselines, broken, automatic, alone)
    rows = shown(capsys, replace(COMPARED, baselines=baselines, folder=tmp_path))
    assert rows["GPU (emulated)"].endswith("compile: no kernel")
    assert "for information only, runs on GPU (emulated)" in rows["AUTO:GPU (emulated),CPU"]
    assert rows["HETERO:CPU,GPU (emulated) (automatic)"].endswith("all on CPU, timed once, before the search")
    assert rows["CPU"].split() == ["CPU", "8.000", "[7.900,", "8.100]", "1.000", "0"]


def test_a_simulated_latency_without_noise_has_an_interval_and_one_sample_has_none(capsys):
    exact = finally_measured("CPU", 8.0, 1.0, final_latency_ms=Interval(8.0, 8.0, 8.0))
    once = replace(COMPARED, baselines=(exact, *COMPARED.baselines[1:]))
    assert shown(capsys, once)["CPU"].split()[1:3] == ["8.000", "-"]
    simulated = replace(once, environment=replace(once.environment, simulated="core-ultra"))
    assert "8.000  [8.000, 8.000]" in shown(capsys, simulated)["CPU (simulated)"]


def test_every_latency_is_of_the_final_comparison_and_fits_its_ratio(capsys):
    rows = shown(capsys, COMPARED)
    figures = {name: re.findall(r"(?<!\S)\d+\.\d{3}(?!\S)", line) for name, line in rows.items()}
    compared = {name: [float(text) for text in found] for name, found in figures.items() if len(found) == 2}
    assert compared.keys() == {"CPU", "CPU (default precision)", "found by cut"}
    for latency_ms, ratio in compared.values():
        assert latency_ms / 8.0 == pytest.approx(ratio)
    assert "29.4" not in "".join(rows.values())
    assert figures["GPU (emulated)"] == ["3.000"]
    assert rows["GPU (emulated)"].endswith("too slow, timed once")
    assert rows["HETERO:GPU (emulated),CPU (automatic)"].endswith("timed once, before the search")


def test_a_line_that_only_had_no_time_is_not_called_slow(capsys):
    near = tuple(replace(b, ratio=1.07) if b.name == "GPU" else b for b in COMPARED.baselines)
    assert shown(capsys, replace(COMPARED, baselines=near))["GPU (emulated)"].endswith("timed once, for lack of time")


def test_one_row_is_the_answer_and_a_placement_that_lost_has_its_row(capsys):
    won = shown(capsys, COMPARED)
    assert [name for name, line in won.items() if line.endswith("the answer")] == ["found by cut"]
    slower = replace(VERDICT, status=Status.BASELINE, ratio=Interval(1.2, 1.1, 1.3, LEVEL))
    behind = replace(FOUND, latency_ms=Interval(9.6, 9.5, 9.7))
    lost = shown(capsys, replace(COMPARED, verdict=slower, best=replace(FOUND, origin="CPU"), found=behind))
    assert [name for name, line in lost.items() if line.endswith("the answer")] == ["CPU"]
    assert lost["found by cut"].split() == ["found", "by", "cut", "9.600", "[9.500,", "9.700]", "1.200", "1e-07"]


def test_simulated_latencies_without_noise_are_not_called_slow(capsys):
    simulated = replace(COMPARED, environment=replace(COMPARED.environment, simulated="null"))
    assert shown(capsys, simulated)["GPU (emulated)"].endswith("timed once, before the search")


def test_ratios_of_before_the_search_are_to_the_same_baseline_as_the_others(capsys):
    automatic = finally_measured("HETERO:GPU,CPU (automatic)", 5.0, 1.0, ratio=0.5)
    baselines = (baseline_summary("CPU"), automatic, baseline_summary("GPU", ratio=3.0))
    verdict = replace(VERDICT, against=automatic.name, defaults={})
    rows = shown(capsys, replace(COMPARED, baselines=baselines, verdict=verdict))
    assert rows["CPU"].split()[3] == "2.000"
    assert rows["GPU (emulated)"].split()[4] == "6.000"


def test_without_a_final_comparison_only_the_reference_has_a_latency(capsys):
    verdict = Verdict(Status.BASELINE, "CPU")
    rows = shown(capsys, replace(RESULT, verdict=verdict, best=replace(RESULT.best, origin="CPU")))
    assert rows["CPU"].split()[1:4] == ["5.000", "[4.900,", "5.100]"]
    assert rows["CPU"].endswith("the answer")
    assert rows["CPU (default precision)"].split()[3:5] == ["-", "-"]


def test_one_sample_has_no_interval(capsys):
    once = baseline_summary("CPU", latency_ms=Interval(62.5, 62.5, 62.5))
    rows = shown(capsys, replace(RESULT, baselines=(once,), verdict=Verdict(Status.BASELINE, "CPU")))
    assert rows["CPU"].split()[1:3] == ["62.500", "-"]


def test_a_narrow_terminal_gets_whole_words_and_numbers(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    show_result(COMPARED)
    out = capsys.readouterr().out
    table, text = out.split("\n\n")[:2]
    assert max(map(len, (*table.splitlines(), *text.splitlines()))) <= 80
    assert {"(emulated),CPU", "(automatic)", "[7.100,", "7.300]"} <= set(table.split())
    assert "operations" in text.split()


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_the_answer_is_coloured_where_colours_are_wanted(capsys, monkeypatch, variable, coloured):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, "1")
    show_result(COMPARED)
    assert ("\x1b[" in capsys.readouterr().out) == coloured


def test_a_cell_is_one_line_of_limited_length(capsys):
    show_table(("name", "text"), [("a", "long " * 50), ("b", "two\nlines")])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == len("name") + 2 + MAX_CELL
    assert lines[2].endswith("…")
    assert lines[3] == "b     two lines"


@pytest.mark.parametrize("folder", ["runs/demo", 'a run\'s $HOME `x` "y" \\'])
def test_what_to_do_next_can_be_typed_as_it_stands(capsys, folder):
    show_result(replace(RESULT, folder=Path(folder)))
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if ": " in line)
    command = ["sh", "-c", f'set -- {lines["Load it"]}; printf %s "$3"']
    program = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert ast.literal_eval(program.partition("ovplace.load(")[2].removesuffix(")")) == folder
    assert shlex.split(lines["Other formats"])[:4] == ["ovplace", "export", folder, "--to"]
    assert lines["Other formats"].split()[-1].split("|") == registry.names("exporters")


def test_what_cannot_be_loaded_here_is_not_offered(capsys):
    show_result(replace(RESULT, environment=replace(RESULT.environment, simulated="two-gpus")))
    out = capsys.readouterr().out
    assert "Load it" not in out
    assert "Other formats: " in out
