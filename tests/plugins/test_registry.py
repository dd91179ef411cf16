from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ovplace.errors import ConfigError, UsageError
from ovplace.plugins import registry
from ovplace.testing import fake_backend


@pytest.mark.parametrize("role", registry.ROLES)
def test_every_file_is_a_plugin_with_the_right_parts(role):
    found = registry.names(role)
    folder = Path(registry.__file__).parents[1] / role
    assert found
    assert set(found) >= {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    for name in found:
        plugin = registry.load(role, name)
        assert plugin.summary
        assert plugin.factory
        assert plugin.config({}) == plugin.Config()


def test_listing_imports_none_of_them():
    program = (
        "import sys; from ovplace.plugins import registry; [registry.names(r) for r in registry.ROLES];"
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'scipy', 'openvino', 'torch')])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == "[]"


def test_a_near_miss_is_suggested():
    with pytest.raises(UsageError, match=r"unknown placer 'radnom'; did you mean 'random'\? there are: .*cut"):
        registry.load("placers", "radnom")


def test_a_dotted_path_is_a_name():
    plugin = registry.load("backends", fake_backend.NAME)
    assert plugin.module is fake_backend
    assert fake_backend.NAME not in registry.names("backends")


@pytest.mark.parametrize("name", ["no.such.module", "ovplace.no_such", ".relative", "a..b", ".", "", "os.path.join"])
def test_what_is_no_module_is_unknown(name):
    with pytest.raises(UsageError, match="unknown backend"):
        registry.load("backends", name)


def test_a_module_without_the_class_is_refused():
    with pytest.raises(UsageError, match=r"ovplace\.seeds has no class 'Backend'"):
        registry.load("backends", "ovplace.seeds")


def test_a_class_that_inherits_nothing_is_refused(tmp_path, monkeypatch):
    (tmp_path / "lone_placer.py").write_text("class Placer: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_locations", lambda role: {"lone": "lone_placer"})
    with pytest.raises(UsageError, match=r"lone_placer\.Placer does not inherit ovplace\.plugins\.protocols\.Placer"):
        registry.load("placers", "lone")


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ('"The docstring.\\n\\nMore."\nSUMMARY = "plain"', "plain"),
        ('"The docstring.\\n\\nMore."\nSUMMARY: str = "with a type"', "with a type"),
        ('"The docstring.\\n\\nMore."', "The docstring."),
        ('"The docstring."\nSUMMARY = ""', "The docstring."),
        ("", ""),
    ],
)
def test_a_summary_is_the_same_without_an_import(tmp_path, monkeypatch, source, summary):
    (tmp_path / "summed_up.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_locations", lambda role: {"mine": "summed_up"})
    assert registry.summary("exporters", "mine") == summary
    assert "summed_up" not in sys.modules
    assert registry.Plugin("exporters", "mine", import_module("summed_up")).summary == summary
    sys.modules.pop("summed_up")


WHOLE = """
from dataclasses import dataclass
from ovplace.plugins import protocols
@dataclass(frozen=True)
class Config: pass
class Feature(protocols.Feature):
    def compute(self, graph): return None
"""


@pytest.mark.parametrize(("source", "said"), [
    ("raise RuntimeError('boom')", "cannot be imported: RuntimeError: boom; correct broken_feature, or what it"),
    ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3; correct broken_feature"),
    ("from ovplace.plugins import absent", "cannot be imported: ImportError: cannot import name 'absent'"),
    ("class (", "cannot be imported: SyntaxError: invalid syntax"),
    ("import absent_package", "needs absent_package; pip install 'absent_package'"),
    ("Feature = 5", "has no class 'Feature'"),
    (WHOLE.replace("def compute", "def computes"), "Feature does not define compute"),
    (WHOLE.replace("class Config", "class Settings"), "has no dataclass 'Config'"),
    (WHOLE.replace("@dataclass(frozen=True)", ""), "has no dataclass 'Config'"),
    (WHOLE.replace("Config: pass", "Config: x: int"), r"Config needs a default and a type for every field: .* 'x'"),
    (WHOLE.replace("Config: pass", "Config: x: 'Y' = 1"), "Config needs a default and a type .* name 'Y' is not"),
    (WHOLE.replace("Config: pass", "Config: x: object = object()"), "Config needs .* as TOML, which has no object"),
    (WHOLE.replace("Config: pass", "Config: x: int = 'y'"), "Config needs a default .* 'x' must be int, got 'y'"),
    (WHOLE + "PRESETS = 5", "PRESETS is not a mapping"),
])  # fmt: skip
def test_a_broken_plug_in_is_one_clear_error(tmp_path, monkeypatch, source, said):
    (tmp_path / "broken_feature.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_installed", lambda group, path: {"broken": "broken_feature"})
    monkeypatch.delitem(sys.modules, "broken_feature", raising=False)
    with pytest.raises(UsageError, match=f"'broken' .*{said}"):
        registry.load("features", "broken")
    assert isinstance(registry.summary("features", "broken"), str)
    monkeypatch.delitem(sys.modules, "broken_feature", raising=False)


def installed(folder, monkeypatch, entries):
    """Install a package whose entry points these are."""
    package = folder / "other-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(str(folder))


def test_a_module_that_an_entry_point_names_in_vain(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch, "[ovplace.features]\nlost = lost_package.feature\nodd = no module?\nnone = :x\n")
    assert {"lost", "odd", "none", "work"} <= set(registry.names("features"))
    with pytest.raises(UsageError, match=r"there is no module 'lost_package\.feature'; install its package anew"):
        registry.load("features", "lost")
    assert [registry.summary("features", name) for name in ("lost", "odd", "none")] == ["", "", ""]
    for name in ("odd", "none"):
        with pytest.raises(UsageError, match=f"the feature '{name}' (is missing|cannot be imported)"):
            registry.load("features", name)


def test_ovplace_keeps_the_names_of_its_own_plugins(tmp_path, monkeypatch):
    installed(tmp_path, monkeypatch, "[ovplace.features]\nwork = ovplace.features.depth\n")
    assert registry.load("features", "work").module.__name__ == "ovplace.features.work"


def test_summaries_are_read_without_importing():
    for role in registry.ROLES:
        for name in registry.names(role):
            assert registry.summary(role, name) in ("", registry.load(role, name).summary)
    assert all(registry.summary("exporters", name) for name in registry.names("exporters"))


def test_other_packages_add_plugins(tmp_path, monkeypatch):
    assert "fake" not in registry.names("backends")
    installed(tmp_path, monkeypatch, f"[ovplace.backends]\nfake = {fake_backend.NAME}\n")
    assert "fake" in registry.names("backends")
    assert registry.load("backends", "fake").module is fake_backend


@pytest.mark.parametrize(
    ("role", "name", "typed"),
    [
        ("placers", "cut", "unknown key 'placer.x' of the placer 'cut'"),
        ("features", "work", "unknown key 'features.work.x' of the feature 'work'"),
        ("features", "ovplace.features.work", "unknown key 'features.\"ovplace.features.work\".x' of the feature"),
        ("exporters", "dot", "unknown key 'x' of the exporter 'dot'"),
    ],
)
def test_a_setting_of_a_plug_in_is_named_as_it_is_typed(role, name, typed):
    with pytest.raises(ConfigError) as caught:
        registry.load(role, name).config({"x": 1})
    assert str(caught.value).startswith(typed)


def test_a_module_that_is_no_plug_in_is_not_imported(tmp_path, monkeypatch):
    """A run folder from elsewhere names its plug-ins: what it names must not run because of that."""
    folder = tmp_path / "somewhere"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "acts.py").write_text("raise SystemExit('it ran')\n")
    (folder / "late.py").write_text("from other import Placer\nraise ZeroDivisionError\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        UsageError, match=r"'somewhere\.acts' is no placer: somewhere\.acts has no class 'Placer', and is not imp"
    ):
        registry.load("placers", "somewhere.acts")
    with pytest.raises(UsageError, match="needs other"):
        registry.load("placers", "somewhere.late")


@pytest.fixture
def acting(tmp_path, monkeypatch):
    """Return a package that must not be imported, with a module and a package in it."""
    folder = tmp_path / "acting"
    (folder / "inner").mkdir(parents=True)
    for file in (folder / "__init__.py", folder / "inner" / "__init__.py"):
        file.write_text("raise SystemExit('it ran')\n")
    for file in (folder / "plain.py", folder / "inner" / "plain.py"):
        file.write_text("SUMMARY = 'nothing'\n")
    (folder / "broken.py").write_text("class Placer(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("acting.absent", "unknown placer 'acting.absent'"),
        ("acting.inner.absent", "unknown placer"),
        ("acting.plain.absent", "unknown placer"),
        ("this.absent", "unknown placer"),
        ("acting.plain", "has no class 'Placer', and is not imported"),
        ("acting.inner.plain", "has no class 'Placer', and is not imported"),
        ("acting.inner", "has no class 'Placer', and is not imported"),
        ("acting.broken", r"cannot read the source of 'acting\.broken': .*broken\.py, line 1\); correct it"),
    ],
)
def test_the_packages_around_what_is_no_plug_in_are_not_imported_either(acting, name, said):
    with pytest.raises(UsageError, match=said):
        registry.load("placers", name)
    assert not {"acting", "this"} & set(sys.modules)


def test_a_summary_is_read_without_importing_the_package_around_it(acting, monkeypatch):
    monkeypatch.setattr(registry, "_locations", lambda role: {"plain": "acting.inner.plain"})
    assert registry.summary("placers", "plain") == "nothing"
