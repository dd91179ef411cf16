"""What a session asks of its measuring process."""

from __future__ import annotations

import re

import numpy as np
import openvino as ov
import pytest

from ovplace.errors import BackendError
from ovplace.measuring.process_pool import ProcessPool
from ovplace.session.configure import effective
from ovplace.session.events import silent
from ovplace.session.session import LEAST_START_S, open_session
from ovplace.session.site import ThisMachine
from ovplace.store.run_folder import RunFolder
from ovplace.testing import models


class OpenedError(Exception):
    """The pool is asked for."""


@pytest.mark.parametrize(
    ("time_s", "start_s"), [(0.0, float("inf")), (1.0, LEAST_START_S), (3 * LEAST_START_S, 3 * LEAST_START_S)]
)
def test_the_process_has_the_time_of_the_call_to_start_but_a_minute_at_least(tmp_path, monkeypatch, time_s, start_s):
    opened = []

    def open_pool(_, worker):
        opened.append(worker)
        raise OpenedError

    monkeypatch.setattr(ThisMachine, "open_pool", open_pool)
    config = effective(None, (), {"model": "model.xml", "machine": "core-ultra", "time_s": time_s})
    with pytest.raises(OpenedError):
        open_session(config, RunFolder(tmp_path), silent)
    assert [worker.start_s for worker in opened] == [start_s]


@pytest.mark.parametrize(
    ("returned", "got"), [(None, "NoneType"), ([[True, True]], "list"), (np.ones((3, 2), dtype=bool), "one of [3, 2]")]
)
def test_a_backend_that_returns_no_table_of_what_it_supports_is_named(tmp_path, monkeypatch, returned, got):
    ov.save_model(models.residual(), tmp_path / "model.xml")
    monkeypatch.setattr(ProcessPool, "ask", lambda *_: returned)
    config = effective(None, (), {"model": str(tmp_path / "model.xml"), "machine": "core-ultra"})
    told = rf"^the backend 'simulate' must return an array .* from supported\(\), got {re.escape(got)}; correct it"
    with pytest.raises(BackendError, match=told):
        open_session(config, RunFolder(tmp_path), silent)
