"""A run as data: TOML out and in."""

from __future__ import annotations

import dataclasses
import tomllib
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.config import toml
from ovplace.config.schema import ComparisonConfig, RunConfig, SearchConfig
from ovplace.core.measurement import MeasureSpec
from ovplace.errors import ConfigError
from ovplace.session.configure import effective

TEXT = st.text(st.characters(codec="utf-8"))
POSITIVE = st.floats(min_value=1e-300, max_value=1e300)
SEARCHES = st.builds(
    SearchConfig,
    model=TEXT,
    shape=TEXT,
    device=TEXT,
    input=TEXT,
    features=st.lists(TEXT, max_size=3).map(tuple),
    budget=st.integers(1, 2**40),
    time_s=POSITIVE,
    seed=st.integers(0, 2**63 - 1),
    emulate_gpu=st.sampled_from([None, True, False]),
    max_error=st.none() | st.floats(0, allow_nan=False),
    require_gain=st.booleans(),
)
SPECS = st.builds(MeasureSpec, warmup=st.integers(0, 9), repeats=st.integers(1, 99), min_time_ms=POSITIVE)
LEAVES = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
TABLES = st.dictionaries(TEXT, VALUES, max_size=3)


@given(st.builds(RunConfig, search=SEARCHES, measure=SPECS, placer=TABLES, backend=TABLES, devices=TABLES))
def test_what_is_written_is_read_back(tmp_path_factory, config):
    path = tmp_path_factory.getbasetemp() / "config.toml"
    path.write_text(toml.dumps(config), encoding="utf-8", newline="\n")
    assert toml.build_config(toml.read(path)) == config


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("[search]\nbudget = 7\n", encoding="utf-8-sig")
    assert toml.read(path) == {"search": {"budget": 7}}


def test_the_defaults_need_no_file():
    assert toml.build_config({}) == RunConfig()


def test_later_layers_win(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('[search]\nbudget = 1\nseed = 1\nplacer = "cut"\n[placer]\ngrid = 4\n')
    found = effective(path, ["search.budget=2", "search.seed=2", "placer.grid=5"], {"budget": 3})
    assert (found.search.budget, found.search.seed, found.search.placer) == (3, 2, "cut")
    assert found.placer == {"grid": 5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("budget=7", 7), ("time_s=1e3", 1000.0), ("emulate_gpu=yes", True), ("emulate_gpu=none", None),
        ("emulate_gpu=0", False), ("max_error=none", None), ("max_error=0.5", 0.5), ("features=a,b", ("a", "b")),
        ("features=a, b", ("a", "b")), ('features=["a", "b"]', ("a", "b")), ("features=[]", ()),
        ("model=a=b", "a=b"), ("seed= 3 ", 3),
    ],
)  # fmt: skip
def test_text_becomes_the_fields_type(text, value):
    found = toml.build_config(toml.assignments([f"search.{text}"])).search
    assert getattr(found, text.split("=")[0].strip()) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("search.budgets=7", "unknown key 'search.budgets'; known: backend"),
        ("serach.budget=7", "unknown section 'serach'; known: search"),
        ("search.budget=seven", r"'search.budget' must be int, got 'seven'"),
        ("search.budget=1.5", "must be int"),
        ("search.budget=0", "budget must be at least 1, got 0"),
        ("search.time_s=-1", "time_s must not be negative"),
        ("search.emulate_gpu=perhaps", "must be bool"),
        ("measure.blocks=0", "blocks must be positive"),
        ("measure.deadline_s=inf", "deadline_s must be positive"),
        ("measure.deadline_s=nan", "'measure.deadline_s' must be float, got 'nan'"),
        ("search.time_s=nan", "'search.time_s' must be float, got 'nan'"),
        ("search.features=[a", "'search.features' must be a list, got '\\[a'"),
        ("search.features=" + "[" * 9999, "must be a list"),
        ("duel.rounds=1", "the section 'duel' is called 'comparison' now; rename it"),
        ("costs.reuse=no", "the section 'costs' is called 'profiling' now; rename it"),
        ("search..budget=1", "section.key=value"),
        ("comparison.rounds=1", "at least 1 finalist, 2 rounds and 3 blocks, got 3, 1 and 8"),
        ("comparison.repeats=0", "bad value in 'comparison': repeats must be positive"),
        ("comparison.min_time_ms=inf", "bad value in 'comparison': min_time_ms must be positive"),
        ("profiling.budget_s=inf", "budget_s finite, got inf, 2 and 2"),
        ("budget=7", "section.key=value"),
        ("search.budget", "section.key=value"),
        (".budget=1", "unknown section"),
    ],
)
def test_what_is_not_understood_is_named(text, words):
    with pytest.raises(ConfigError, match=words) as caught:
        toml.build_config(toml.assignments([text]))
    assert "\n" not in str(caught.value)


def test_a_setting_that_contradicts_an_earlier_one_is_named():
    with pytest.raises(ConfigError, match=r"--set placer\.x\.y=2 contradicts .*'x' is '1'; leave one of them out"):
        toml.assignments(["placer.x=1", "placer.x.y=2"])
    assert toml.assignments(["placer.x.y=2", "placer.x.z=3"]) == {"placer": {"x": {"y": "2", "z": "3"}}}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('features."mine.rank".scale=2', ["features", "mine.rank", "scale"]),
        ("features.'mine.rank'.scale=2", ["features", "mine.rank", "scale"]),
        ('"features".rank."scale"=2', ["features", "rank", "scale"]),
        ('placer.path=a."b.c"', ["placer", "path"]),
    ],
)
def test_a_key_with_dots_is_quoted_as_in_toml(text, keys):
    found: Any = toml.assignments([text])
    for key in keys:
        ((only, found),) = found.items()
        assert only == key
    assert found == text.partition("=")[2]


@pytest.mark.parametrize("text", ['features."mine.rank.scale=2', "a'.b=1"])
def test_an_open_quote_is_not_understood(text):
    with pytest.raises(ConfigError, match="unknown section"):
        toml.build_config(toml.assignments([text]))


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1.5, [1], {"a": 1}, True])
def test_values_of_another_type_are_refused(value):
    with pytest.raises(ConfigError, match=r"'search\.budget' must be int"):
        toml.build_config({"search": {"budget": value}})


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[search\n", "line 1"), (b"budget = 1\n", "must stand in a section"), (b"\xff\xfe", "is not TOML")],
)
def test_files_that_are_no_configuration(tmp_path, content, words):
    path = tmp_path / "c.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        toml.read(path)
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        toml.read(tmp_path / "absent.toml")


def test_a_damaged_configuration_of_a_run_says_what_to_do(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[search\n")
    with pytest.raises(ConfigError, match=r"line 1.*search again in another folder"):
        toml.read_stored(path)
    path.write_text("")
    with pytest.raises(ConfigError, match=r"is empty; mend the file, or search again in another folder"):
        toml.read_stored(path)


def test_every_field_has_a_plain_default():
    for kind in (SearchConfig, MeasureSpec, ComparisonConfig):
        assert all(f.default is not dataclasses.MISSING for f in dataclasses.fields(kind))


@given(st.dates(min_value=date(1000, 1, 1)) | st.datetimes(min_value=datetime(1000, 1, 1)) | st.times() | VALUES)
def test_any_value_of_toml_is_text_again(value):
    assert tomllib.loads(f"x = {toml.value_text(value)}") == {"x": value}
