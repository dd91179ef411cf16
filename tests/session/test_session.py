"""What a session asks of its measuring process."""

from __future__ import annotations

import pytest

from ovplace.session.configure import effective
from ovplace.session.events import silent
from ovplace.session.session import LEAST_START_S, open_session
from ovplace.session.site import ThisMachine
from ovplace.store.run_folder import RunFolder


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
