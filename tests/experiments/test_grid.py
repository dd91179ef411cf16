"""What a file means, and what is refused before anything runs."""

import tomllib
from math import prod
from pathlib import Path

import pytest

from ovplace.errors import ConfigError, DeviceError, ModelError, UsageError
from ovplace.experiments.catalogue import CONFIGS, find_ablation
from ovplace.experiments.folder_names import check_distinct, folder_name
from ovplace.experiments.grid import read_grid
from ovplace.experiments.variants import over, variants
from ovplace.shipped import shipped, shipped_in


def test_each_variant_model_machine_and_seed_is_a_run(case, tmp_path):
    ablation = read_grid(case.file, tmp_path)
    assert [variant.name for variant in ablation.variants] == ["full", "cuts"]
    wanted = {tmp_path / v / "small" / "i9-12900k+flex170" / s for v in ("full", "cuts") for s in "34"}
    assert {run.folder for run in ablation.cells} == wanted
    for run in ablation.cells:
        assert run.config.search.seed == run.seed
        assert run.config.search.placer == {"full": "random", "cuts": "cut"}[run.variant]
        assert run.config.search.model == str(case.model)
        assert run.config.backend["machine"] == "i9-12900k+flex170"
        assert run.simulated
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_ablation_has_fewer_seeds_of_everything(case, tmp_path):
    file = case.write(tmp_path, ("i9-12900k+flex170", 'i9-12900k+flex170", "core-ultra'))
    runs = read_grid(file, tmp_path).cells
    assert [run.seed for run in runs] == [3] * 4 + [4] * 4
    assert [run.machine for run in runs[:4]] == ["i9-12900k+flex170"] * 2 + ["core-ultra"] * 2


def test_here_is_real(case, tmp_path):
    file = case.write(tmp_path, ("i9-12900k+flex170", "here"), ("[base]", "[base]\nsearch.device = 'CPU'"))
    ablation = read_grid(file, tmp_path)
    assert {run.config.search.backend for run in ablation.cells} == {"openvino"}
    assert not any(run.simulated for run in ablation.cells)
    assert all(run.timed_here for run in ablation.cells)
    elsewhere = read_grid(file, tmp_path, ["search.cluster=tls://127.0.0.1:1"])
    assert not any(run.timed_here for run in elsewhere.cells)


def test_devices_of_a_fleet_are_not_looked_for_here(case, tmp_path):
    file = case.write(tmp_path, ("i9-12900k+flex170", "here"), ("[base]", "[base]\nsearch.device = 'GPU.7'"))
    with pytest.raises(DeviceError, match=r"GPU\.7"):
        read_grid(file, tmp_path)
    assert read_grid(file, tmp_path, ["search.cluster=tls://127.0.0.1:1"]).cells


def test_recipes_and_shapes(case, tmp_path):
    models = (
        f'"demo", {{recipe = "bert-base", fp16 = true, tokens = 8}}, {{path = "{case.model}", shape = "[1,3,8,8]"}}'
    )
    ablation = read_grid(case.write(tmp_path, (f'"{case.model}"', models)), tmp_path)
    assert [model.label for model in ablation.models] == ["demo", "bert-base tokens=8 fp16", "small"]
    files = {run.model: (run.config.search.model, run.config.search.shape) for run in ablation.cells}
    assert files["bert-base tokens=8 fp16"] == (str(tmp_path / "models/bert-base-tokens=8-fp16.xml"), "")
    assert [model.fp16 for model in ablation.models] == [False, True, False]
    assert files["small"] == (str(case.model), "[1,3,8,8]")


def test_a_grid_is_all_combinations_but_its_base(case, tmp_path):
    grid = "[grid]\ncoarsener.target = [32, 128]\nsearch.budget = [4, 5]\n"  # 128 and 4 are the base, said or not
    ablation = read_grid(case.write(tmp_path, ("[variants]", f"{grid}[variants]")), tmp_path)
    assert [variant.name for variant in ablation.variants] == [
        "full",
        "cuts",
        "target=32 budget=4",
        "target=32 budget=5",
        "target=128 budget=5",
    ]
    run = next(run for run in ablation.cells if run.variant == "target=32 budget=5")
    assert (run.config.coarsener["target"], run.config.search.budget) == (32, 5)
    assert run.folder.parts[-4] == "target=32-budget=5"


def test_names_of_grid_points():
    _, points = variants(
        {}, {"placer": {"seed": [1], "on": [True]}, "backend": {"seed": [2]}, "search": {"f": [["a", "b"]]}}
    )
    assert [point.name for point in points] == ["placer.seed=1 on=true backend.seed=2 f=a+b"]


def test_another_plugin_starts_from_its_defaults():
    base = {"search": {"placer": "random", "budget": 3}, "placer": {"independent": 0.5}, "coarsener": {"target": 9}}
    assert over(base, {"search": {"placer": "cut"}}) == {
        "search": {"placer": "cut", "budget": 3},
        "coarsener": {"target": 9},
    }
    assert over(base, {"search": {"placer": "cut"}, "placer": {"grid": 2}})["placer"] == {"grid": 2}
    assert over(base, {"search": {"placer": "random"}})["placer"] == {"independent": 0.5}


def test_set_changes_the_base_and_variants_win(case, tmp_path):
    ablation = read_grid(case.file, tmp_path, ["search.budget=7", "search.placer=local_search"])
    assert {(run.variant, run.config.search.placer, run.config.search.budget) for run in ablation.cells} == {
        ("full", "local_search", 7),
        ("cuts", "cut", 7),
    }


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ([("seeds = [3, 4]", "seeds = []")], ConfigError, "'ablation.seeds' in"),
        ([("seeds = [3, 4]", "")], ConfigError, "is missing or empty"),
        ([("seeds = [3, 4]", "seeds = [3, 3]")], ConfigError, "names '3' twice"),
        ([("seeds = [3, 4]", "seeds = [-1]")], ConfigError, "must not be negative"),
        ([("seeds = [3, 4]", "seeds = ['x']")], ConfigError, "'ablation.seeds' must be int"),
        ([("seeds = [3, 4]", "seeds = 3")], ConfigError, "'ablation.seeds' must be a list, got '3'"),
        ([("seeds = [3, 4]", "seed = [3]")], ConfigError, "unknown key 'ablation.seed'"),
        ([("seeds = [3, 4]", "seeds = [3")], ConfigError, "is not TOML"),
        ([("[base]", "[bases]")], ConfigError, "unknown section 'bases'"),
        ([("i9-12900k+flex170", "i9-12900k+flex17")], UsageError, "did you mean 'i9-12900k+flex170'?"),
        ([("search.budget = 4", "search.budget = 0")], ConfigError, "variant 'full': bad value in 'search'"),
        ([("search.budget = 4", "search.effort = 4")], ConfigError, "unknown key 'search.effort'"),
        ([("search.budget = 4", "budget = 4")], ConfigError, "'base.budget' must be section.key = value"),
        ([("search.budget = 4", "search.seed = 4")], ConfigError, "'base.search.seed' is set by [ablation]"),
        ([("search.budget = 4", "backend.machine = 'null'")], ConfigError, "is set by [ablation]"),
        ([("search.budget = 4", "search.device = 'NPU'")], Exception, "variant 'full': device 'NPU' is not on"),
        ([('cuts.search.placer = "cut"', 'cuts.search.placer = "cuts"')], UsageError, "variant 'cuts': unknown placer"),
        ([('cuts.search.placer = "cut"', "cuts.placer.grid = 3")], ConfigError, "unknown key 'placer.grid' of the"),
        ([('cuts.search.placer = "cut"', "cuts = 3")], ConfigError, "'variants.cuts' must be a table"),
        ([('cuts.search.placer = "cut"', "cuts = {}")], ConfigError, "'variants.cuts' sets nothing"),
        ([('cuts.search.placer = "cut"', "full.search.budget = 9")], ConfigError, "is the base itself"),
        ([('cuts.search.placer = "cut"', "models.search.budget = 9")], ConfigError, "cannot be told from the folder"),
        (
            [('cuts.search.placer = "cut"', "a-b.search.batch = 2\n'a b'.search.batch = 3")],
            ConfigError,
            "variant 'a-b'",
        ),
        ([('cuts.search.placer = "cut"', "cuts.search.budget = 4")], ConfigError, "is the same as 'full'"),
        ([('cuts.search.placer = "cut"', "cuts.coarsener.target = 128")], ConfigError, "is the same as 'full'"),
        ([("[variants]", "[grid]\nsearch.batch = 2\n[variants]")], ConfigError, "must be a list of values"),
    ],
)
def test_what_is_refused(case, tmp_path, changes, error, said):
    with pytest.raises(error) as found:
        read_grid(case.write(tmp_path, *changes), tmp_path / "out")
    assert said in str(found.value)
    assert "\n" not in str(found.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "error", "said"),
    [
        ('"nothing.xml"', ModelError, "'nothing.xml' does not exist"),
        ('{recipe = "bert-bas"}', UsageError, "unknown model 'bert-bas'"),
        ('{recipe = "bert-base", token = 8}', ConfigError, "unknown key 'ablation.models: bert-base.token'"),
        ('{name = "x"}', ConfigError, "a model in 'ablation.models' is a path"),
        ("7", ConfigError, "a model in 'ablation.models' is a path"),
    ],
)
def test_models_that_are_refused(case, tmp_path, model, error, said):
    with pytest.raises(error, match=said.replace("[", r"\[")):
        read_grid(case.write(tmp_path, (f'"{case.model}"', model)), tmp_path / "out")


GRID = ("models", "machines", "seeds")
NAMES = shipped_in(CONFIGS, ".toml")


@pytest.mark.parametrize("name", NAMES)
def test_ablations_that_come_with_ovplace_are_accepted(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_ablation(name) == find_ablation(f"{CONFIGS}/{name}.toml") == shipped(f"{CONFIGS}/{name}.toml")
    tables = tomllib.loads(find_ablation(name).read_text())
    ablation = read_grid(find_ablation(name), tmp_path)
    assert ablation.variants[0].name == "full"
    assert len(ablation.variants) == 1 + len(tables["variants"])
    assert len(ablation.cells) == len(ablation.variants) * prod(len(tables["ablation"][key]) for key in GRID)


def test_files_are_found(case, tmp_path):
    assert {"hsdag", "hsdag-more"} <= set(NAMES)
    assert find_ablation(str(case.file)) == case.file
    with pytest.raises(UsageError, match="did you mean 'hsdag'"):
        find_ablation("hsdga")
    with pytest.raises(UsageError, match="no ablation"):
        find_ablation(str(tmp_path / "hsdag.toml"))  # the user's own, which is not there


def test_folders_are_told_apart():
    assert folder_name("1/latency reward") == "1-latency-reward"
    assert folder_name("../..") == ""
    assert Path(folder_name("a/../b")).name == "a-..-b"
    check_distinct("variant", ["a", "b"])
    for labels in (["a", "A"], ["a b", "a-b"], ["..."]):
        with pytest.raises(ConfigError, match="variant"):
            check_distinct("variant", labels)


def test_pairs_of_model_and_machine_and_the_name_of_the_base(case, tmp_path):
    changes = ("seeds = [3, 4]", 'seeds = [3]\nbase = "drawn"\nplaces = ["demo/core-*", "small/*"]')
    models = (f'"{case.model}"', f'"demo", "{case.model}"')
    machines = ('["i9-12900k+flex170"]', '["i9-12900k+flex170", "core-ultra"]')
    grid = read_grid(case.write(tmp_path, changes, models, machines), tmp_path)
    assert {(cell.model, cell.machine) for cell in grid.cells} == {
        ("demo", "core-ultra"),
        ("small", "i9-12900k+flex170"),
        ("small", "core-ultra"),
    }
    assert [variant.name for variant in grid.variants] == ["drawn", "cuts"]
    nothing = ("seeds = [3, 4]", 'seeds = [3]\nplaces = ["demo/*"]')
    with pytest.raises(ConfigError, match=r"'demo/\*', which fits no model/machine; there are small/i9"):
        read_grid(case.write(tmp_path, nothing), tmp_path)
