"""Errors name keyword arguments to programs, and options on the command line."""

from __future__ import annotations

import pytest

import ovplace
from ovplace.api.python_texts import python_text
from ovplace.errors import ConfigError, NotReachedError, StoreError, UsageError

MODEL = "models/demo.xml"
SIMULATED = {"machine": "i9-12900k+flex170"}


@pytest.mark.parametrize(("said", "rendered"), [
    ("cannot write 'a -o b': full; choose another place with -o", "cannot write 'a -o b': full; choose another place"),
    ("--shape 'x[?]' is short; pass --shape 'x[1]' now", "shape='x[?]' is short; pass shape='x[1]' now"),
    ("try a larger --budget or --time", "try a larger budget or time"),
    ("HETERO's choice: -d, as in -d HETERO:GPU,CPU", "HETERO's choice: device, as in device='HETERO:GPU,CPU'"),
    ("allow larger errors with --max-error", "allow larger errors with max_error"),
    ("stopped, the same command continues in 'same command'", "stopped, the same call continues in 'same command'"),
    ("'ovplace optimize MODEL -o x' begins one", "'ovplace optimize MODEL -o x' begins one"),
    ("the device 'x' is gone; run again with --debug", "the device 'x' is gone; run again with --debug"),
    ("a rate of -d2 or x-d, and non-input", "a rate of -d2 or x-d, and non-input"),
])  # fmt: skip
def test_options_become_keyword_arguments(said, rendered):
    assert python_text(said) == rendered
    assert python_text(rendered) == rendered


def test_errors_of_the_interface_name_keyword_arguments(tmp_path):
    for wrong, said in (
        ({"backend": "openvino"}, "machine is a simulated machine, backend is 'openvino'"),
        ({"shape": [1, 2]}, "shape gives input 'interferogram' 2 dimensions, but it has 4"),
        ({"shape": "x"}, "shape='x' is not understood from 'x' on"),
        ({"input": "absent.npz"}, "name another file with input$"),
        ({"settings": "budget=3"}, r"settings takes section\.key=value"),
    ):
        for call in (
            ovplace.explain,
            ovplace.measure,
            lambda model, **given: ovplace.optimize(model, tmp_path, **given),
        ):
            with pytest.raises(UsageError, match=said):
                call(MODEL, **SIMULATED, **wrong)


def test_errors_of_a_run_name_keyword_arguments(tmp_path):
    with pytest.raises(NotReachedError, match=r"try a larger budget or other devices$") as caught:
        ovplace.optimize(MODEL, tmp_path / "run", budget=1, require_gain=True, **SIMULATED)
    run = caught.value.result
    with pytest.raises(
        ConfigError, match=r"holds another run \(search\.seed differs\); choose another folder, or delete"
    ):
        ovplace.optimize(MODEL, run.folder, seed=7, **SIMULATED)
    with pytest.raises(UsageError, match=r"whose answer would be lost; choose another folder$"):
        run.export("json", run.folder)
    for call in (run.report, lambda path: run.export("json", path)):
        with pytest.raises(StoreError, match=r"choose another place$"):
            call("/proc/absent/x")
    for call in (run.check, run.measure, lambda input: ovplace.bound(run.folder, input=input)):
        with pytest.raises(UsageError, match=r"absent\.npz' do not exist; .* name another file with input$"):
            call(input="absent.npz")
