"""The pipe of a child lets in values, and nothing that acts."""

import copyreg
import os
import pickle
import pickletools
from pathlib import Path

import numpy as np
import pytest

from ovplace.core.device import Device
from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.core.placement import Placement
from ovplace.errors import BackendError, ModelError
from ovplace.measuring.child import Reply
from ovplace.measuring.messages import data_of, message_of, sendable
from ovplace.measuring.worker import guarded


class Acts:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


class OthersError(BackendError):
    pass


@pytest.mark.parametrize(
    "value",
    [
        Measurement((1.0, 2.0), (2,), facts={"a": "b"}),
        Measurement.failed(ErrorKind.CRASH, "x"),
        Device("CPU_A", "CPU", {"P": "1"}, {"f": "g"}),
        {"a": [1, (2, None), {3}], "p": Path("x")},
        Reply(1.5, None, 3.0),
    ],
)
def test_values_come_through(value):
    assert message_of(data_of(value)) == value


def test_arrays_and_errors_come_through():
    placement = message_of(data_of(Placement(np.arange(3) % 2, ("A", "B"))))
    assert placement.device_of.tolist() == [0, 1, 0]
    assert message_of(data_of(np.float64(2.5))) == 2.5
    assert message_of(data_of(np.ones((2, 3), dtype=bool))).shape == (2, 3)
    assert str(message_of(data_of(ModelError("no model")))) == "no model"


@pytest.mark.parametrize("call", [(os.system, "true"), (eval, "1"), (getattr, os, "system"), (exec, "x = 1")])
def test_what_acts_is_refused(call):
    data = pickle.dumps(Acts(*call)) if call[0] is not getattr else pickle.dumps(Acts(getattr, Path, "cwd"))
    with pytest.raises(pickle.UnpicklingError, match="may not name"):
        message_of(data)


def test_no_module_is_imported_for_a_message():
    data = pickle.dumps(Path).replace(b"pathlib", b"antigra")
    assert "antigra" in str(list(pickletools.genops(data)))
    with pytest.raises(pickle.UnpicklingError, match=r"may not name antigra(\._local)?\.Path"):
        message_of(data)


def test_other_packages_do_not_change_how_errors_are_written(monkeypatch):
    monkeypatch.setitem(copyreg.dispatch_table, ModelError, lambda error: (exec, ("x = 1",)))
    assert b"exec" in pickle.dumps(ModelError("no model"))
    assert str(message_of(data_of(ModelError("no model")))) == "no model"


def test_errors_of_other_packages_become_texts():
    def fails():
        raise OthersError("it\nfails")

    reply = message_of(data_of(guarded(fails)))
    assert type(reply.error) is BackendError
    assert type(sendable(np.exceptions.AxisError("no axis"))) is RuntimeError
    assert type(sendable(KeyError("a"))) is KeyError
