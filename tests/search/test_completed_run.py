"""What a finished run folder says to commands that read it."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import replace

import numpy as np
import openvino as ov
import pytest

from ovplace import zoo
from ovplace.config.schema import RunConfig
from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval
from ovplace.errors import PlacementError, StoreError
from ovplace.search.completed_run import GROUPS, CompletedRun, measured_placements, open_completed_run
from ovplace.search.run import run
from ovplace.session.configure import effective
from ovplace.session.problem import form_groups
from ovplace.store.run_folder import RunFolder
from ovplace.testing.graphs import chain
from ovplace.testing.models import TINY
from ovplace.testing.results import baseline_summary, device_summary, run_result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a finished run on a simulated machine."""
    at = tmp_path_factory.mktemp("completed")
    ov.save_model(TINY["residual"](), at / "tiny.xml", compress_to_fp16=False)
    given = {"model": str(at / "tiny.xml"), "machine": "i9-12900k+flex170", "placer": "cut", "budget": 4}
    run(effective(None, ("measure.min_time_ms=0", "comparison.min_time_ms=0", "comparison.race=0"), given), at / "run")
    return at / "run"


def test_it_says_where_it_ran_and_what_it_answered(folder):
    found = open_completed_run(folder)
    assert (found.simulated, set(found.devices)) == ("i9-12900k+flex170", {"CPU", "GPU"})
    assert found.answer.to_names(found.graph) == json.loads((folder / "placement.json").read_text())


def test_a_placement_on_other_devices_is_refused(folder, tmp_path):
    path = shutil.copytree(folder, tmp_path / "run") / "placement.json"
    table = json.loads(path.read_text())
    path.write_text(json.dumps(table | {min(table): "NOPE"}))
    with pytest.raises(StoreError, match=r"names the device 'NOPE', the run was on GPU, CPU; run its 'ovplace optim"):
        open_completed_run(path.parent)


def test_placements_that_its_groups_cannot_have_are_none(folder):
    found = open_completed_run(folder)
    n = len(found.graph)
    first = found.devices[0]
    assert found.device_of_groups(Placement.uniform(n, first)).tolist() == [0] * found.partition.n_groups
    assert found.device_of_groups(Placement.uniform(n, "NPU")) is None
    members = np.flatnonzero(found.partition.group_of == np.bincount(found.partition.group_of).argmax())
    assert len(members) > 1, "there is a group that can be divided"
    divided = Placement((np.arange(n) == members[0]).astype(int), tuple(found.devices))
    assert found.device_of_groups(divided) is None


def test_each_placement_that_worked_is_listed_once_with_its_latency(folder, tmp_path):
    found = open_completed_run(shutil.copytree(folder, tmp_path / "run"))
    with closing(found.folder.open_store()) as store:
        failed = Measurement.failed(ErrorKind.CRASH, "gone")
        store.add_trial("failed", replace(store.trials()[0], number=99, measurement=failed, ratio=float("inf")))
        choices, latency_ms = measured_placements(found, store)
        trials = store.trials()
    assert len(np.unique(choices, axis=0)) == len(choices) >= len({trial.placement.hash for trial in trials})
    assert {tuple(row) for row in choices} >= {tuple(found.device_of_groups(trial.placement)) for trial in trials}
    assert (latency_ms > 0).all()


def test_what_a_busy_machine_took_longer_for_does_not_count(folder, tmp_path):
    found = open_completed_run(shutil.copytree(folder, tmp_path / "run"))
    with closing(found.folder.open_store()) as store:
        trials = store.trials()
        quiet = next(trial for trial in trials if not trial.placement.is_uniform)
        busy = replace(quiet.measurement, samples_ms=tuple(1e3 * ms for ms in quiet.measurement.samples_ms))
        other = found.partition.lift(np.arange(found.partition.n_groups) % 2, found.devices)
        assert other.hash not in {trial.placement.hash for trial in trials}
        store.add_trial("busy", replace(quiet, number=99, placement=other, measurement=busy))
        choices, latency_ms = measured_placements(found, store)
    at = {tuple(row): value for row, value in zip(choices, latency_ms, strict=True)}
    same = [at[tuple(found.device_of_groups(placement))] for placement in (quiet.placement, other)]
    assert same[0] == same[1]


def test_other_groups_than_it_placed_are_refused(folder, tmp_path):
    with pytest.raises(PlacementError, match="there is no run folder"):
        open_completed_run(tmp_path / "nowhere")
    result = json.loads((folder / "result.json").read_text())
    kept = (folder / "result.json").read_bytes()
    result["model"]["groups"] += 1
    (folder / "result.json").write_text(json.dumps(result))
    try:
        with pytest.raises(StoreError, match=r"placed \d+ groups, this ovplace forms \d+; optimize again"):
            open_completed_run(folder)
    finally:
        (folder / "result.json").write_bytes(kept)


@pytest.fixture
def small(tmp_path):
    """Return a run of four operations on three devices, and its store."""
    baselines = (
        baseline_summary("CPU", latency_ms=Interval(10.0, 9.0, 11.0)),
        baseline_summary("GPU", latency_ms=Interval(15.0, 14.0, 16.0), ratio=1.5),
        baseline_summary("NPU", latency_ms=None, ratio=None),
        baseline_summary("AUTO:GPU,CPU", ratio=1.25),
    )
    result = run_result(devices=tuple(map(device_summary, ("GPU", "CPU", "NPU"))), baselines=baselines)
    graph = chain(("Sin",) * 4)
    answer = Placement.uniform(4, "CPU")
    run = CompletedRun(RunFolder(tmp_path), RunConfig(), graph, Partition.identity(4), result, answer)
    with closing(run.folder.open_store()) as store:
        yield run, store


def placed(*device_of, devices=("GPU", "CPU")):
    return Placement(np.array(device_of), devices)


def test_latencies_are_ratios_times_the_usual_latency_of_the_reference(small):
    """It took 10, 10, 10 and 20 ms beside what was measured; what failed beside or itself is left out."""
    run, store = small
    half, busy = placed(0, 0, 1, 1), placed(1, 0, 1, 0, devices=("CPU", "GPU", "TPU"))
    ok = Measurement((5.0,), (1,))
    for number, (placement, measured, ratio) in enumerate(
        [
            (half, ok, 0.5),
            (busy, replace(ok, samples_ms=(20.0,)), 1.0),
            (half, ok, 0.25),
            (placed(1, 1, 1, 1), ok, 0.125),
            (placed(0, 1, 1, 1), ok, float("inf")),
            (placed(0, 1, 1, 0), Measurement.failed(ErrorKind.CRASH, "gone"), float("inf")),
        ]
    ):
        store.add_trial(f"key {number}", Trial(number, placement, measured, ratio, "test"))
    choices, latency_ms = measured_placements(run, store)
    assert choices.tolist() == [[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    assert latency_ms.tolist() == [10.0, 15.0, 5.0, 10.0]


def test_a_run_that_has_measured_nothing_has_no_placements(small):
    run, store = small
    choices, latency_ms = measured_placements(replace(run, result=replace(run.result, baselines=())), store)
    assert (choices.shape, str(choices.dtype), latency_ms.shape) == ((0, 4), "int64", (0,))


def test_a_placement_may_know_devices_that_it_does_not_use(small):
    run, _ = small
    assert run.device_of_groups(placed(1, 2, 1, 2, devices=("TPU", "CPU", "NPU"))).tolist() == [1, 2, 1, 2]
    assert run.device_of_groups(placed(0, 2, 1, 2, devices=("TPU", "CPU", "NPU"))) is None


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Return a finished run on a machine with a device that does not support Softmax, in 20 groups."""
    at = tmp_path_factory.mktemp("refused")
    zoo.save_recipe("attention", zoo.recipe("attention").Config(), at / "m.xml")
    given = {"model": str(at / "m.xml"), "machine": "core-ultra", "placer": "cut", "budget": 2}
    settings = ("measure.min_time_ms=0", "comparison.min_time_ms=0", "comparison.race=0", "coarsener.target=20")
    run(effective(None, settings, given), at / "run")
    return at / "run"


def test_it_has_the_groups_that_were_placed(refused):
    """They depend on what the devices support, which is not asked again."""
    found = open_completed_run(refused)
    anywhere = form_groups(found.config, found.graph)
    assert found.partition.n_groups == anywhere.n_groups == 20
    assert not np.array_equal(found.partition.group_of, anywhere.group_of)
    assert found.device_of_groups(found.answer) is not None


def test_a_run_of_a_version_that_kept_no_groups_goes_on_with_those_that_it_had(refused, tmp_path):
    path = shutil.copytree(refused, tmp_path / "run")
    with closing(RunFolder(path).open_store()) as store:
        store.put(GROUPS, None)
    earlier = open_completed_run(path)
    assert np.array_equal(earlier.partition.group_of, form_groups(earlier.config, earlier.graph).group_of)
    run(replace(earlier.config, search=replace(earlier.config.search, budget=3)), path)
    assert np.array_equal(open_completed_run(path).partition.group_of, earlier.partition.group_of)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda groups: groups * 2, r"expected one for each of \d+ operations, got \d+"),
        (lambda groups: groups[1:], r"expected one for each of \d+ operations, got \d+"),
        (lambda groups: ["a", *groups[1:]], "expected numbers from 0 to .*, got 'a'"),
        (lambda groups: [None, *groups[1:]], "expected numbers from 0 to .*, got None"),
        (lambda groups: [-1, *groups[1:]], "expected numbers from 0 to .*, got -1"),
        (lambda groups: [groups[0] + 0.5, *groups[1:]], r"expected numbers from 0 to .*, got \d+\.5"),
        (lambda groups: [group + (group > 0) for group in groups], "groups must be .* without gaps"),
        (lambda groups: "a", "expected a list, got 'a'"),
    ],
)
def test_damaged_groups_are_one_clear_error(refused, tmp_path, damage, said):
    path = shutil.copytree(refused, tmp_path / "run")
    with closing(RunFolder(path).open_store()) as store:
        store.put(GROUPS, damage(store.get(GROUPS)))
    finished = RunFolder(path).read_config()
    config = replace(finished, search=replace(finished.search, budget=100))  # there is more to do
    for call in (lambda: open_completed_run(path), lambda: run(config, path)):
        with pytest.raises(StoreError, match=f"the groups in the run folder are damaged: {said}.*; start anew"):
            call()
