"""What a finished run folder says to commands that read it."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import replace

import numpy as np
import openvino as ov
import pytest

from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.core.placement import Placement
from ovplace.errors import PlacementError, StoreError
from ovplace.search.completed_run import measured_placements, open_completed_run
from ovplace.search.run import run
from ovplace.session.configure import effective
from ovplace.testing.models import TINY


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a finished run on a simulated machine."""
    at = tmp_path_factory.mktemp("completed")
    ov.save_model(TINY["residual"](), at / "tiny.xml", compress_to_fp16=False)
    given = {"model": str(at / "tiny.xml"), "machine": "i9-12900k+flex170", "placer": "cut", "budget": 4}
    run(effective(None, ("comparison.min_time_ms=0", "comparison.race=0"), given), at / "run")
    return at / "run"


def test_it_says_where_it_ran_and_what_it_answered(folder):
    found = open_completed_run(folder)
    assert (found.simulated, set(found.devices)) == ("i9-12900k+flex170", {"CPU", "GPU"})
    assert found.answer.to_names(found.graph) == json.loads((folder / "placement.json").read_text())


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
    with closing(found.open_store()) as store:
        failed = Measurement.failed(ErrorKind.CRASH, "gone")
        store.add_trial("failed", replace(store.trials()[0], number=99, measurement=failed, ratio=float("inf")))
        choices, latency_ms = measured_placements(found, store)
        trials = store.trials()
    assert len(np.unique(choices, axis=0)) == len(choices) >= len({trial.placement.hash for trial in trials})
    assert {tuple(row) for row in choices} >= {tuple(found.device_of_groups(trial.placement)) for trial in trials}
    assert (latency_ms > 0).all()


def test_what_a_busy_machine_took_longer_for_does_not_count(folder, tmp_path):
    found = open_completed_run(shutil.copytree(folder, tmp_path / "run"))
    with closing(found.open_store()) as store:
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
