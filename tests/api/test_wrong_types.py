"""What a caller gives in place of what a function takes is one clear error."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import ovplace
from ovplace.errors import ConfigError, UsageError
from ovplace.store.run_folder import RunFolder

MODEL = "models/demo.xml"
SIMULATED = {"machine": "i9-12900k+flex170"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return ovplace.optimize(MODEL, tmp_path_factory.mktemp("api") / "run", budget=1, **SIMULATED)


@pytest.mark.parametrize("call", [ovplace.measure, ovplace.explain])
@pytest.mark.parametrize(("wrong", "said"), [
    ({"model": 7}, "the model must be a path or an openvino.Model, got int"),
    ({"model": 7, "input": [1.0]}, "the model must be a path or an openvino.Model, got int"),
    ({"placement": "CPU"}, "a placement must map names of operations to names of devices, got 'CPU'"),
    ({"placement": {"logits": 1}}, "a placement must map .*, got {'logits': 1}; give one such as run.placement"),
    ({"config_file": 5}, "the configuration must be a path, got int"),
    ({"listener": 5}, "a listener must be a function of one argument, got int; leave it out"),
])  # fmt: skip
def test_measuring_and_explaining(call, wrong, said):
    with pytest.raises(UsageError, match=said):
        call(**{"model": MODEL, **SIMULATED, **wrong})


def test_run_folders(run):
    for call in (ovplace.bound, ovplace.load, ovplace.open_run):
        with pytest.raises(UsageError, match=r"the run folder must be a path, got Run; give .* such as run\.folder"):
            call(run)
    with pytest.raises(UsageError, match="the run folder must be a path, got int"):
        ovplace.optimize(MODEL, 5)


def test_exports_and_reports(run):
    with pytest.raises(UsageError, match="the export must be a path, got int; give a string"):
        run.export("json", path=5)
    with pytest.raises(UsageError, match="the report must be a path, got int"):
        run.report(path=5)
    with pytest.raises(UsageError, match="unknown exporter 'None'; there are: blob, cpp, "):
        run.export(None)


@pytest.mark.parametrize("name", ["progress", "rigorous"])
def test_texts_are_no_booleans(run, name):
    for call in (run.measure, run.check, lambda **given: ovplace.measure(MODEL, **SIMULATED, **given)):
        with pytest.raises(UsageError, match=f"{name} must be True or False, got 'no'"):
            call(**{name: "no"})
    with pytest.raises(UsageError, match=f"{name} must be True or False, got 'no'"):
        ovplace.optimize(MODEL, run.folder, budget=1, **{name: "no"}, **SIMULATED)
    assert ovplace.optimize(MODEL, run.folder, budget=1, **{name: np.False_}, **SIMULATED) == run


@pytest.mark.parametrize(("name", "said"), [
    ("x" * 5000, "cannot look up the {what} 'x+': File name too long; check the path"),
    ("a\0b", r"the {what} cannot be called 'a\\x00b': (stat: )?embedded null (byte|character in path); choose another"),
    ("\udc00\ud800", r"the {what} cannot be called '\\udc00\\ud800': .* surrogates not allowed"),
    ("a\udcff", r"the {what} cannot be called 'a\\udcff': .* surrogates not allowed; choose another name"),  # b"a\xff"
])  # fmt: skip
def test_names_that_no_file_has(run, name, said):
    for call in (ovplace.bound, ovplace.load, ovplace.open_run, lambda name: ovplace.optimize(MODEL, name)):
        with pytest.raises(UsageError, match=said.format(what="run folder")):
            call(name)
    with pytest.raises(UsageError, match=said.format(what="model")):
        ovplace.explain(name, **SIMULATED)
    for what, given in (("inputs", "input"), ("configuration", "config_file")):
        with pytest.raises(UsageError, match=said.format(what=what)):
            ovplace.explain(MODEL, **SIMULATED, **{given: name})
    for what, call in (("report", run.report), ("export", lambda name: run.export("json", name))):
        with pytest.raises(UsageError, match=said.format(what=what)):
            call(name)


def test_numbers_and_lists_of_numpy_are_like_those_of_python(tmp_path):
    names = np.array(["depth", "work"])
    done = ovplace.optimize(MODEL, tmp_path, budget=np.int64(1), seed=np.float64(2), features=names, **SIMULATED)
    search = RunFolder(done.folder).read_config().search
    assert (search.budget, search.seed, search.features) == (1, 2, ("depth", "work"))


@pytest.mark.parametrize("wrong", [np.float32(2.5), np.float64(2.5), Fraction(5, 2), Decimal("2.5"), 2.5, np.ones(2)])
def test_no_part_of_a_number_is_dropped(wrong):
    with pytest.raises(ConfigError, match=r"'search\.budget' must be int, got '(2\.5|5/2|\[1\.0, 1\.0\])'"):
        ovplace.optimize(MODEL, budget=wrong)


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_a_folder_is_no_report(run, folder):
    with pytest.raises(UsageError, match=f"the report is a file, '{folder}' is a folder; give a file in it"):
        run.report(folder)


@pytest.mark.parametrize("wrong", [None, b"demo", 7])
def test_what_is_no_model_needs_no_folder(wrong):
    with pytest.raises(UsageError, match=f"the model must be a path or an openvino.Model, got {type(wrong).__name__}"):
        ovplace.optimize(wrong)


@pytest.mark.parametrize("wrong", [-1, 0, float("nan"), "soon", None])
def test_the_time_limit_of_a_bound(run, wrong):
    with pytest.raises(UsageError, match="duration"):
        ovplace.bound(run.folder, time_limit_s=wrong)


def test_pictures(run):
    with pytest.raises(UsageError, match="axes must be matplotlib axes, got ndarray; leave them out for new ones"):
        run.plot_history(np.array([None, None]))


def test_loading(run):
    with pytest.raises(UsageError, match=r"core must be an openvino\.Core, got int"):
        run.load(5)
    with pytest.raises(UsageError, match="cache_dir must be a path, got int"):
        run.load(cache_dir=5)


@pytest.mark.parametrize(("wrong", "said"), [
    ({"requests": "two"}, "requests must be a whole number, 0 or more, got 'two'"),
    ({"requests": -1}, "requests must be a whole number, 0 or more, got -1"),
    ({"time": [1]}, r"'\[1\]' is not a duration"),
    ({"api": 3}, "api must be 'sync' or 'async', got '3'"),
])  # fmt: skip
def test_benchmarks(run, wrong, said):
    with pytest.raises(UsageError, match=said):
        run.benchmark(**wrong)
