"""A result and its JSON: there and back, and the files of earlier versions."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ovplace.core.certificate import Certificate
from ovplace.core.measurement import OutputError
from ovplace.core.result.parts import (
    Accuracy,
    BaselineSummary,
    BestPlacement,
    DeviceSummary,
    Environment,
    MachineSummary,
    ModelSummary,
    OutsideFraction,
    SearchSummary,
    TimeSpent,
)
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval
from ovplace.core.verdict import LEVEL, Status, Verdict
from ovplace.testing.results import LATENCY, run_result

STORED = Path(__file__).parent / "data" / "result_schema_1.json"
"""Written by revision 43b0ab1, before `RunResult` was."""

TEXT = st.text(max_size=5)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=2)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.none() | NUMBER
ERROR = MAYBE | st.just(inf)
INTERVAL = st.builds(Interval, NUMBER, NUMBER, NUMBER)
RATIO = st.builds(Interval, NUMBER, NUMBER, NUMBER, st.sampled_from((0.95, LEVEL, 0.99)))
SUBMODELS = st.lists(TEXT, max_size=3).map(tuple)
VERDICT = st.builds(
    Verdict, st.sampled_from(Status), TEXT, st.none() | RATIO, st.none() | RATIO,
    st.dictionaries(TEXT, RATIO, max_size=2), SUBMODELS, TEXT,
)  # fmt: skip
SEARCH = st.builds(
    SearchSummary,
    seconds=st.builds(TimeSpent, *[NUMBER] * 11),
    outside_fraction=st.builds(OutsideFraction, NUMBER, NUMBER),
    placer_info=st.dictionaries(TEXT, NUMBER, max_size=2),
    costs=st.none() | st.dictionaries(TEXT, NUMBER | TEXT, max_size=2),
    stages_over_hetero=st.dictionaries(TEXT, NUMBER, max_size=2),
    machines=st.lists(st.builds(MachineSummary, TEXT, st.integers(), st.none() | NUMBER, TEXT), max_size=2).map(tuple),
    certificate=st.none() | st.builds(Certificate, TEXT, TEXT, NUMBER, NUMBER | st.just(-inf), NUMBER, TEXT),
)
PLACEMENT = st.builds(
    BestPlacement,
    latency_ms=st.none() | INTERVAL,
    ops_per_device=st.dictionaries(TEXT, st.integers()),
    submodels=SUBMODELS,
    max_rel_error=ERROR,
)
RESULT = st.builds(
    RunResult,
    model=st.builds(ModelSummary, TEXT, TEXT, st.integers(), st.integers()),
    devices=st.lists(st.builds(DeviceSummary, properties=TEXTS), max_size=2).map(tuple),
    baselines=st.lists(
        st.builds(
            BaselineSummary,
            latency_ms=st.none() | INTERVAL,
            ratio=MAYBE,
            max_rel_error=ERROR,
            submodels=SUBMODELS,
            final_latency_ms=st.none() | INTERVAL,
            final_ratio=st.none() | RATIO,
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
    best=PLACEMENT,
    found=st.none() | PLACEMENT,
    verdict=VERDICT,
    accuracy=st.builds(
        Accuracy, TEXT, st.lists(st.builds(OutputError, TEXT, NUMBER, NUMBER, NUMBER), max_size=2).map(tuple)
    ),
    search=SEARCH,
    environment=st.builds(Environment, versions=TEXTS, drivers=TEXTS),
    folder=st.just(Path("run")),
).map(lambda result: replace(result, verdict=_against(result, result.verdict)))


def _against(result, verdict):
    """Return a verdict against baselines of the result."""
    names = [baseline.name for baseline in result.baselines]
    return replace(verdict, against=names[-1], defaults=dict(zip(names, verdict.defaults.values(), strict=False)))


@settings(max_examples=50, deadline=None)
@given(RESULT)
def test_there_and_back(result):
    text = json.dumps(result.to_json(), allow_nan=False)
    assert RunResult.from_json(json.loads(text)) == result


def test_a_ratio_says_how_sure_its_interval_is():
    verdict = Verdict(Status.FASTER, "CPU", Interval(0.8, 0.7, 0.9, LEVEL), defaults={"CPU": Interval(0.9, 0.8, 1.1)})
    data = verdict.to_json()
    assert (data["ci98"], data["defaults"]["CPU"]["ci95"]) == ([0.7, 0.9], [0.8, 1.1])
    assert Verdict.from_json(data) == verdict


def test_a_file_of_an_earlier_version_is_read():
    data = json.loads(STORED.read_text(encoding="utf-8"))
    result = RunResult.from_json(data)
    assert result.to_json() == data
    assert result.verdict.status == Status.BASELINE
    assert result.best.latency_ms.low < result.best.latency_ms.value < result.best.latency_ms.high
    assert result.search.certificate.solver == "milp"
    assert result.baseline("NPU").latency_ms is None
    assert result.environment.simulated == "core-ultra"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 7}, "has schema 7, this ovplace reads 1"),
        ({"best": {}}, "has no field 'origin'"),
        ({"verdict": None}, "another form"),
        ({"devices": 3}, "another form"),
        ({"baselines": []}, r"its verdict is against 'CPU', its baselines are \[\]"),
        ({"verdict": Verdict(Status.SAME, "NPU").to_json()}, "is against 'NPU', its baselines are .'CPU', 'GPU'"),
        ({"verdict": Verdict(Status.SAME, "CPU", defaults={"NPU": LATENCY}).to_json()}, "is against 'NPU', its base"),
    ],
)
def test_other_data_are_refused_with_the_reason(change, words):
    with pytest.raises(ValueError, match=words):
        RunResult.from_json(run_result().to_json() | change)


def test_a_file_without_a_version_is_refused():
    with pytest.raises(ValueError, match="no field 'schema'"):
        RunResult.from_json({})


def test_the_folder_is_no_part_of_the_result(tmp_path):
    result = run_result()
    assert replace(result, folder=tmp_path) == result
    assert len({result, replace(result, folder=tmp_path), run_result(verdict=Verdict(Status.SAME, "CPU"))}) == 2
    assert RunResult.from_json(result.to_json(), tmp_path).folder == tmp_path


def test_the_largest_output_error():
    errors = (OutputError("a", 1.0, 0.1, 1.0), OutputError("b", 0.5, 0.3, 1.0))
    assert Accuracy("", errors).max_rel_error == 0.3
    assert Accuracy("", ()).max_rel_error is None


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [(0.8, 0.99, Status.FASTER), (0.8, 1.0, Status.SAME), (1.0, 1.2, Status.SAME), (1.01, 1.2, Status.BASELINE)],
)
def test_a_status_is_that_of_the_interval(low, high, status):
    assert Status.of(Interval((low + high) / 2, low, high)) is status
