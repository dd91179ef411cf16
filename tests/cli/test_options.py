"""Durations, precedence, shipped files."""

import dataclasses
import json
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace import shipped as files
from ovplace.cli.arguments.options import Duration
from ovplace.cli.output.config_text import documented
from ovplace.config.schema import BUDGET, RunConfig

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("0.5h", 1800), ("1m30", 90)]
)
def test_durations(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@given(st.integers(0, 99), st.integers(0, 99), st.integers(1, 99))
def test_durations_add_up(h, m, s):
    assert Duration().convert(f"{h}h{m}m{s}s", None, None) == 3600 * h + 60 * m + s


@pytest.mark.parametrize("text", ["", "m", "-3s", "1d", "10 m", "1e3", "nan", "0", "0h0s", "1.30.00", "1" * 50 + "x"])
def test_no_durations(text):
    with pytest.raises(click.BadParameter):
        Duration().convert(text, None, None)


def test_options_beat_settings_and_these_a_file_and_that_the_defaults(ovplace, tmp_path, tiny):
    file = tmp_path / "run.toml"
    file.write_text("[search]\nbudget = 11\nseed = 4\n[comparison]\nrounds = 5\n")

    def plan(*arguments):
        done = ovplace("optimize", tiny, "--machine", "null", "--dry-run", "--json", *arguments)
        return json.loads(done.out)

    def shown(*arguments):
        return json.loads(ovplace("config", "show", "--json", *arguments).out)["search"]["budget"]

    assert plan()["placements"] == BUDGET
    assert plan("--time", "5m")["placements"] is None
    assert shown("--config", file) == 11
    assert shown("--config", file, "--set", "search.budget=12") == 12
    everything = plan("--config", file, "--set", "search.budget=12", "--budget", "13", "--time", "5m")
    assert (everything["placements"], everything["rounds"]) == (13, 5)


def test_the_shipped_defaults_are_the_codes(ovplace):
    shipped = files.shipped("configs/default.toml")
    assert shipped == ROOT / "configs" / "default.toml"
    assert shipped.read_text() == documented(RunConfig()), "write it anew: ovplace config show > configs/default.toml"


def test_config_show_writes_what_config_reads_in_any_encoding(program, ovplace, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    command = [*program, "config", "show", "--set", "search.model=Möve 入.xml"]
    done = subprocess.run(command, capture_output=True, check=True)
    (tmp_path / "shown.toml").write_bytes(done.stdout)
    shown = ovplace("config", "show", "--json", "--config", tmp_path / "shown.toml")
    assert json.loads(shown.out)["search"]["model"].endswith("Möve 入.xml"), shown.err


def test_config_show(ovplace, tmp_path):
    assert ovplace("config", "show").out == ovplace("config", "show", "--config", "default").out
    (tmp_path / "c.toml").write_text('[devices.CPU_B]\nbase = "CPU"\nproperties = {INFERENCE_PRECISION_HINT = "f32"}\n')
    arguments = (
        "config",
        "show",
        "--config",
        tmp_path / "c.toml",
        "--set",
        "search.placer=cut",
        "--set",
        "placer.grid=3",
    )
    shown = ovplace(*arguments)
    tables = tomllib.loads(shown.out)
    assert (tables["search"]["placer"], tables["placer"]) == ("cut", {"grid": 3})
    assert tables["devices"]["CPU_B"]["base"] == "CPU"
    (tmp_path / "again.toml").write_text(shown.out)
    assert ovplace("config", "show", "--config", tmp_path / "again.toml").out == shown.out
    assert json.loads(ovplace(*arguments, "--json").out)["placer"] == {"grid": 3}


SETTABLE = """
from dataclasses import dataclass
from ovplace.plugins import protocols
@dataclass(frozen=True)
class Config: width: int = 1
class Feature(protocols.Feature):
    def compute(self, graph): return None
"""


def test_config_show_quotes_names_with_dots(ovplace, tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "settable.py").write_text(SETTABLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    device = '[devices."GPU.0"]\nbase = "GPU.0"\n'
    (tmp_path / "c.toml").write_text(
        f'{device}[search]\nfeatures = ["own.settable"]\n[features."own.settable"]\nwidth = 7'
    )
    shown = ovplace("config", "show", "--config", tmp_path / "c.toml")
    tables = tomllib.loads(shown.out)
    assert (tables["devices"], tables["features"]) == ({"GPU.0": {"base": "GPU.0"}}, {"own.settable": {"width": 7}})
    (tmp_path / "again.toml").write_text(shown.out)
    assert ovplace("config", "show", "--config", tmp_path / "again.toml").out == shown.out


def test_config_show_has_every_section_and_loses_none(ovplace, tmp_path):
    changes = ["profiling.budget_s=7", "comparison.rounds=4", "measure.blocks=5", "search.budget=6", "placer.sweeps=1"]
    shown = ovplace("config", "show", *(word for change in changes for word in ("--set", change)))
    tables = tomllib.loads(shown.out)
    written = {field.name for field in dataclasses.fields(RunConfig)} - {"devices", "features"}
    assert written <= tables.keys()
    for change in changes:
        section, _, rest = change.partition(".")
        key, _, value = rest.partition("=")
        assert tables[section][key] == int(value)
    (tmp_path / "again.toml").write_text(shown.out)
    assert ovplace("config", "show", "--config", tmp_path / "again.toml").out == shown.out


def test_a_run_given_by_options_is_continued_by_toml(ovplace, tmp_path, tiny):
    file, out = tmp_path / "same.toml", tmp_path / "run"
    file.write_text(
        '[search]\nbackend = "simulate"\nplacer = "cut"\nbudget = 3\n[backend]\nmachine = "two-gpus"\n'
        "[placer]\ngrid = 3\n[measure]\nmin_time_ms = 0.0\n[comparison]\nrounds = 2\nblocks = 3\n"
    )
    options = ["--machine", "two-gpus", "--placer", "cut", "--budget", "3", "--set", "placer.grid=3"]
    short = ["--set", "measure.min_time_ms=0", "--set", "comparison.rounds=2", "--set", "comparison.blocks=3"]
    first = ovplace("optimize", tiny, "-o", out, *options, *short)
    assert first.code == 0, first.err
    again = ovplace("optimize", tiny, "-o", out, "--config", file)
    assert again.code == 0, again.err
    assert "is finished" in again.err
    other = ovplace("optimize", tiny, "-o", out, "--config", file, "--set", "placer.grid=4")
    assert other.code == 2
    assert "placer.grid" in other.err


def test_the_old_option_names_the_new_one(ovplace, tiny):
    done = ovplace("optimize", tiny, "--profile", "null")
    assert done.code == 2
    assert done.err.strip().splitlines() == ["Error: --profile is called --machine now; write --machine null"]


def test_shipped_files_in_an_installed_package(tmp_path, monkeypatch):
    (tmp_path / "share" / "models").mkdir(parents=True)
    (tmp_path / "share" / "models" / "demo.xml").write_text("")
    monkeypatch.setattr(files, "_ROOTS", (tmp_path / "share", ROOT / "nowhere"))
    assert files.shipped("models/demo.xml") == tmp_path / "share" / "models" / "demo.xml"
    assert files.shipped("models/none.xml") is None


def test_manifest_knows_the_recipes():
    from ovplace import zoo
    from ovplace.cli.output.settings_doc import documented_settings

    manifest = tomllib.loads((ROOT / "models" / "manifest.toml").read_text())
    assert sorted(manifest) == zoo.names()
    for name, entry in manifest.items():
        known = {s.name: s.default for s in documented_settings(zoo.recipe(name).Config)}
        assert entry["options"].items() <= known.items(), name
    demo = zoo.recipe("demo")
    assert manifest["demo"]["operations"] == len(demo.build(demo.Config()).get_ops())
