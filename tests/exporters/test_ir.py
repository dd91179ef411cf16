"""The IR carries its placement: plain OpenVINO finds it and HETERO compiles to it."""

import numpy as np
import openvino as ov
import pytest

from ovplace.commands.export import export
from ovplace.errors import UsageError
from ovplace.exporters.ir import Config, Exporter
from ovplace.ir.affinity import submodel_chain
from ovplace.ir.load import load
from tests.exporters.conftest import F32, infer


@pytest.fixture
def exported(nasty, tmp_path):
    Exporter(Config()).write(nasty, tmp_path / "out")
    return tmp_path / "out"


def test_plain_openvino_compiles_to_the_same_placement(nasty, exported, table, outputs):
    core = ov.Core()
    core.register_plugin("openvino_intel_cpu_plugin", "CPU_B")
    for name in ("CPU", "CPU_B"):
        core.set_property(name, F32)
    model = core.read_model(exported / "placed.xml")
    found = {op.get_friendly_name(): op.get_rt_info()["user_dataaffinity"].value for op in model.get_ops()}
    assert found == table
    for op in model.get_ops():
        op.get_rt_info()["affinity"] = op.get_rt_info()["user_dataaffinity"].value
    compiled = core.compile_model(model, "HETERO:CPU,CPU_B")
    np.testing.assert_array_equal(infer(compiled), outputs)
    assert submodel_chain(compiled) == submodel_chain(load(nasty)) == ("CPU", "CPU_B", "CPU")


def test_ovplace_loads_it_as_it_loads_the_run(exported, outputs):
    np.testing.assert_array_equal(infer(load(exported)), outputs)


def test_a_placement_edited_by_hand_is_the_one_inside(nasty, tmp_path, table):
    import json
    import shutil

    edited = shutil.copytree(nasty, tmp_path / "edited")
    changed = dict.fromkeys(table, "CPU_B")
    (edited / "placement.json").write_text(json.dumps(changed))
    Exporter(Config()).write(edited, tmp_path / "out")
    model = ov.Core().read_model(tmp_path / "out" / "placed.xml")
    assert {op.get_rt_info()["user_dataaffinity"].value for op in model.get_ops()} == {"CPU_B"}


def test_another_run_is_not_overwritten(nasty, tmp_path):
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(UsageError, match="holds a run"):
        export(nasty, Exporter(Config()), tmp_path)
    assert not (tmp_path / "placed.xml").exists()


def test_the_run_itself_is_refused(nasty):
    with pytest.raises(UsageError, match="choose another folder"):
        export(nasty, Exporter(Config()), nasty)
