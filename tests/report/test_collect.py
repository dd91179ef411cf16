"""What a report says, as plain data."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.measurement import Measurement, OutputError, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.result.parts import Accuracy
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.report.collect import report_of
from ovplace.report.page import html
from ovplace.report.sections.boundaries import boundaries
from ovplace.report.sections.verdict import verdict_section
from ovplace.testing.graphs import graph, problem
from ovplace.testing.reports import evidence
from ovplace.testing.results import LATENCY, baseline_summary, device_summary, run_result

ENVIRONMENT = run_result().environment


@pytest.fixture(scope="module")
def of():
    return evidence()


@pytest.fixture(scope="module")
def report(of):
    return report_of(of)


def test_the_data_are_json_without_infinities(report):
    text = json.dumps(report.to_data(), allow_nan=False)
    assert json.loads(text)["graph"]["ops"]["name"] == list(report.graph.ops.name)


def test_outputs_without_finite_error_are_still_shown():
    outputs = (OutputError("y", math.inf, math.nan, 0.0),)
    wrong = evidence(accuracy=Accuracy("CPU", outputs), found=replace(run_result().best, max_rel_error=math.inf))
    report = report_of(wrong)
    assert report.facts.outputs == (("y", "inf", "nan", "0.0000000"),)
    assert json.dumps(report.to_data(), allow_nan=False)
    assert '<td class="n">inf</td>' in html(report)


def test_every_operation_is_drawn_once_but_constants(of, report):
    ops = report.graph.ops
    assert sorted(ops.name) == sorted(of.run.graph.names)
    table = of.run.answer.to_names(of.run.graph)
    assert [of.run.devices[device] for device in ops.device] == [table[name] for name in ops.name]


def test_copies_are_those_of_the_placement(of, report):
    boundaries = report.graph.boundaries
    assert sum(boundaries.n_bytes) == of.run.answer.cut_bytes(of.run.graph)
    assert all(ms > 0 for ms in boundaries.ms)
    devices = report.graph.ops.device
    assert all(devices[a] != devices[b] for a, b in zip(boundaries.source, boundaries.target, strict=True))


def test_an_operation_that_reads_a_copy_twice_is_one_reader():
    found = boundaries(graph(("Relu", "Multiply", "Add"), [(0, 1), (0, 1), (0, 2), (1, 2)]), np.array([0, 1, 1]))
    assert (found.source.tolist(), found.target.tolist(), found.readers.tolist()) == ([0], [1], [2])


def test_the_steps_lead_from_one_device_to_the_answer(of, report):
    why = report.why
    assert why.device == "CPU"
    assert why.device_ms + sum(step.ms for step in why.steps) == pytest.approx(why.subject_ms)
    assert why.subject_ms == pytest.approx(float(latency_ms(of.costs, of.answer.choice[None])[0]))


def test_moves_are_the_submodels_of_the_other_device(of, report):
    gpu = {i: len(ops) for i, ops in enumerate(of.answer.submodels) if of.answer.device_of[ops[-1]] == 0}
    assert sorted(number for move in report.why.moves for number in move.submodels) == list(gpu)
    assert [move.operations for move in report.why.moves] == [
        sum(gpu[number] for number in move.submodels) for move in report.why.moves
    ]
    assert {move.device for move in report.why.moves} == {"GPU"}
    assert sum(move.copies_ms for move in report.why.moves) == pytest.approx(sum(report.graph.boundaries.ms))


def test_groups_that_moved_add_up_to_the_term_of_the_cost_model(report):
    step = next(step for step in report.why.steps if step.label == "times of groups")
    assert sum(group.saved_ms for group in report.why.groups) == pytest.approx(-step.ms)
    saved = [abs(group.saved_ms) for group in report.why.groups]
    assert saved == sorted(saved, reverse=True)
    placed = {name for group in report.why.groups for name in group.operations}
    ops = report.graph.ops
    assert placed == {name for name, device in zip(ops.name, ops.device, strict=True) if device == 0}


def test_the_predicted_timeline_is_as_long_as_the_prediction():
    report = report_of(evidence(group=1))
    predicted = report.timeline.lanes[-1]
    assert sum(map(sum, predicted.ms)) == pytest.approx(report.why.subject_ms)


def test_an_input_that_nobody_reads_is_no_stage_and_no_move():
    kinds = ("Parameter", "Parameter", "Relu", "Sin", "Exp", "Tanh", "Sigmoid", "Abs")
    model = graph(kinds, [(i, i + 1) for i in range(1, 7)])
    of = evidence(model, segments=2, group=4)  # the first group, on the CPU, has the unread input
    stages = Measurement((3.0,), (1,), submodels=("CPU", "GPU"), stages_ms=(1.0, 2.0))
    of = replace(of, trials=(*of.trials, Trial(6, of.run.answer, stages, 0.7, "cut")))
    numbers = [next(i for i, ops in enumerate(of.answer.submodels) if op in ops) for op in (2, 4)]
    report = report_of(of)
    assert [lane.device for lane in report.timeline.lanes] == [("CPU", "GPU")] * 2
    assert [lane.submodels for lane in report.timeline.lanes] == [tuple((number,) for number in numbers)] * 2
    other = report_of(replace(of, run=replace(of.run, answer=Placement(1 - of.run.answer.device_of, ("GPU", "CPU")))))
    assert [(move.submodels, move.operations) for move in other.why.moves] == [((numbers[0],), 3)]


def test_submodels_that_share_a_group_are_one_move():
    kinds = ("Parameter", "Relu", "Sin", "Exp", "Tanh", "Add")
    model = graph(kinds, [(0, 1), (1, 2), (2, 3), (1, 4), (3, 5), (4, 5)])
    of = evidence(model)
    partition = Partition.from_labels([0, 1, 1, 2, 1, 1])  # HETERO cuts the second group, which the third comes back to
    answer = partition.lift([1, 0, 1], ("GPU", "CPU"))
    run = replace(of.run, partition=partition, answer=answer)
    report = report_of(replace(of, run=run, costs=problem(model, partition=partition).costs))
    why, (move,) = report.why, report.why.moves
    first, second = move.submodels
    assert f">{first + 1} + {second + 1}</td>" in html(report)
    assert move.operations == 4
    step = next(step for step in why.steps if step.label == "times of groups")
    assert move.after_ms - move.before_ms == pytest.approx(step.ms)


def test_the_best_so_far_never_rises_and_failures_have_none(report):
    history = report.history
    assert all(a >= b for a, b in zip(history.best, history.best[1:], strict=False))
    assert [i for i, text in enumerate(history.failure) if text] == [
        i for i, r in enumerate(history.ratio) if r is None
    ]


def test_a_trial_has_the_number_that_other_commands_take(of):
    (failed,) = [trial for trial in of.trials if trial.measurement.error]
    found = report_of(replace(of, trials=of.trials[failed.number :])).history  # those before are not measured yet
    assert found.number == tuple(trial.number for trial in of.trials[failed.number :])
    page = html(report_of(replace(of, trials=(replace(failed, number=17),))))
    assert f'<tr><td class="n">17</td><td>{failed.measurement.error}' in page


def test_the_answer_has_its_samples_of_the_final_comparison(report):
    answer = [row for row in report.comparison.rows if row.answer]
    assert [row.name for row in answer] == ["found by cut"]
    assert [len(samples) for samples in answer[0].rounds] == [6, 6]


def test_baselines_have_the_remarks_that_the_command_line_prints(of):
    alone = baseline_summary("HETERO:CPU,GPU (automatic)", submodels=("CPU", "CPU"))
    known = baseline_summary("AUTO:GPU,CPU", runs_on="GPU.0", competes=False)
    result = replace(of.result, baselines=(*of.result.baselines, alone, known))
    rows = report_of(replace(of, run=replace(of.run, result=result))).comparison.rows
    assert [row.remark for row in rows] == [
        "",
        "",
        "all on CPU, timed once, before the search",
        "for information only, runs on GPU, timed once, before the search",
        "trial 4",
    ]


def test_where_a_device_is_best_the_best_other_placement_is_explained(of):
    same = evidence(verdict=Verdict(Status.SAME, "CPU", Interval(1.0, 0.9, 1.1)))
    report = report_of(same)
    assert (report.why.subject, report_of(of).why.subject) == ("the best other placement (trial 4)", "the answer")
    found = report.comparison.rows[-1]
    assert (found.name, found.answer, found.ratio) == ("found by cut", False, 1.0)
    assert found.latency_ms[1] <= found.latency_ms[0] <= found.latency_ms[2]


@pytest.mark.parametrize(
    ("latency", "interval"),
    [(LATENCY, "4.900 to 5.100"), (Interval(5.0, 0.013, 6828.1), "uncertain"), (Interval(5.0, 5.0, 5.0), "-")],
)
def test_intervals_that_say_nothing_are_not_shown(latency, interval):
    baselines = (baseline_summary("CPU", final_latency_ms=latency), baseline_summary("GPU"))
    report = report_of(evidence(baselines=baselines))
    row = report.comparison.rows[0]
    assert row.interval == interval
    assert row.latency_ms == (5.0, *((4.9, 5.1) if latency == LATENCY else (5.0, 5.0)))
    assert f">{interval}<" in html(report)
    assert "6828" not in json.dumps(report.to_data())


def test_unused_devices_of_a_trial_need_not_be_those_of_the_end_of_the_run(of):
    """A run may be continued with fewer devices."""
    same = evidence(verdict=Verdict(Status.SAME, "CPU", Interval(1.0, 0.9, 1.1)))
    more = [replace(t, placement=Placement(t.placement.device_of, (*t.placement.devices, "NPU"))) for t in same.trials]
    assert report_of(replace(same, trials=tuple(more))).why == report_of(same).why


def test_without_costs_there_are_neither_reasons_nor_predictions(of):
    report = report_of(replace(of, costs=None))
    assert (report.why, report.prediction, report.graph.group_ms) == (None, None, ())
    assert set(report.graph.boundaries.ms) == {None}


def test_what_the_cost_model_cannot_run_has_no_prediction(of):
    """A group may fail as it is profiled alone, and run in a whole placement."""
    group_ms = np.where(np.arange(2) == of.answer.choice[:, None], np.inf, of.costs.group_ms)
    report = report_of(replace(of, costs=replace(of.costs, group_ms=group_ms)))
    assert (report.why, report.prediction, report.timeline.lanes) == (None, None, ())
    html(report)


@pytest.mark.parametrize(
    ("status", "ratio", "words"),
    [
        (
            Status.FASTER,
            Interval(0.5, 0.4, 0.6),
            "With 3 of 10 operations on GPU and 7 on CPU, one inference takes 50 % less",
        ),
        (Status.SAME, Interval(1.0, 0.9, 1.1), "no placement found is significantly faster"),
        (Status.BASELINE, Interval(1.2, 1.1, 1.3), "the best other placement takes 20 % more time"),
        (Status.BASELINE, None, "Everything stays on CPU."),
    ],
)
def test_the_verdict_is_one_sentence(status, ratio, words):
    found = verdict_section(evidence(verdict=Verdict(status, "CPU", ratio)))
    assert words in found.sentence
    assert found.sentence.count(". ") == 0


def test_the_verdict_has_the_other_ratios_of_the_terminal():
    default = baseline_summary("CPU (default precision)", max_rel_error=0.002, competes=False)
    verdict = Verdict(
        Status.FASTER, "CPU", Interval(0.5, 0.4, 0.6), null_control=Interval(1.02, 1.0, 1.04),
        defaults={default.name: Interval(1.2, 1.1, 1.3)}, notes=("a note",),
    )  # fmt: skip
    found = evidence(baselines=(baseline_summary("CPU"), baseline_summary("GPU"), default), verdict=verdict)
    against, sanity, note = verdict_section(found).notes
    assert against.startswith("Against CPU at its default precision: ratio 1.200 [1.100, 1.300]")
    assert sanity.startswith("Sanity check: the same cut on one device, between CPU and an identical CPU: ratio 1.020")
    assert note == "A note."


def test_where_nothing_was_compared_the_moment_is_before_the_search():
    automatic = baseline_summary("HETERO:GPU,CPU (automatic)", ratio=0.9)
    baselines = (baseline_summary("CPU"), baseline_summary("GPU"), automatic)
    of = evidence(baselines=baselines, found=None, verdict=Verdict(Status.BASELINE, automatic.name))
    page = html(report_of(of))
    assert "Latencies are of one moment: before the search." in page
    assert "the best single device, before" not in page


def test_one_placement_is_no_plural():
    of = evidence()
    one = replace(of, trials=of.trials[:1], finals={})
    assert "asked for 1 placement. Ratios are" in html(report_of(one))


def test_a_baseline_on_several_devices_is_no_device_that_everything_stays_on():
    automatic = "HETERO:GPU,CPU (automatic)"
    same = verdict_section(evidence(verdict=Verdict(Status.SAME, automatic, Interval(1.0, 0.9, 1.1))))
    assert same.sentence == f"{automatic} is the answer: no placement found is significantly faster."
    faster = verdict_section(evidence(verdict=Verdict(Status.FASTER, automatic, Interval(0.996, 0.99, 0.998))))
    assert faster.sentence.endswith(f"one inference takes 0.4 % less time than with {automatic}.")


def test_what_was_not_compared_is_not_called_best():
    nothing = verdict_section(evidence(verdict=Verdict(Status.BASELINE, "CPU", notes=("no other was tried",))))
    assert (nothing.status, nothing.badge) == ("baseline", "not compared")


def test_emulated_and_simulated_are_said():
    emulated = evidence(devices=(device_summary("GPU", emulated=True), device_summary("CPU")))
    assert "GPU (emulated)" in verdict_section(emulated).sentence
    assert "GPU is emulated" in verdict_section(emulated).caution
    simulated = evidence(environment=replace(ENVIRONMENT, simulated="core-ultra"))
    assert "CPU (simulated)" in verdict_section(simulated).sentence
    assert "simulated, on the machine core-ultra" in verdict_section(simulated).caution
    assert verdict_section(evidence()).caution == ""


def test_devices_keep_their_order_whatever_the_answer_uses(of):
    flipped = replace(of, run=replace(of.run, answer=replace(of.run.answer, devices=("CPU", "GPU"))))
    assert np.array_equal(flipped.answer.device_of, 1 - of.answer.device_of)


def test_an_answer_that_divides_groups_is_shown_without_reasons(of):
    n = len(of.run.graph)
    divided = replace(of, run=replace(of.run, answer=Placement(np.arange(n) % 2, ("GPU", "CPU"))))
    report = report_of(divided)
    assert (report.why, report.timeline.lanes) == (None, ())
    assert sum(report.graph.boundaries.n_bytes) == divided.run.answer.cut_bytes(of.run.graph)
    assert html(report)
