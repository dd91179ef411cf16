"""A crash in another process is an error like any other."""

import math
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from ovplace.core.text.input_shapes import parse_shapes
from ovplace.errors import ModelError, StoreError, UsageError
from ovplace.ir.model_info import model_info
from ovplace.measuring import isolated_call as module
from ovplace.measuring.isolated_call import isolated_call


def test_the_value_comes_back_whatever_is_printed():
    assert isolated_call("printing", print, "into the answer?") is None
    assert isolated_call("looking", os.getpid) != os.getpid()
    assert model_info(Path("models/demo.xml")) == isolated_call("reading", model_info, Path("models/demo.xml"))


@pytest.mark.parametrize(
    ("act", "arguments", "how"),
    [
        (os.abort, (), r"killed by SIGABRT.*\); export"),
        (os.kill, (0, 11), r"killed by SIGSEGV\); export"),
        (os.kill, (0, 9), r"killed by SIGKILL\); is there enough memory"),
    ],
)
def test_a_crash_is_one_line(act, arguments, how):
    with pytest.raises(ModelError, match=rf"^OpenVINO crashed while reading 'x\.onnx' \({how}.*$"):
        isolated_call("reading 'x.onnx'", act, *arguments)


def test_a_full_folder_of_temporary_files_is_named(monkeypatch):
    full = partial(Path.open, Path("/dev/full"), "r+b")
    monkeypatch.setattr(module, "TemporaryFile", full)
    monkeypatch.setattr(module, "gettempdir", lambda: "full")
    with pytest.raises(StoreError, match=r"^cannot write a temporary file: No space .* in 'full', or set TMPDIR to"):
        isolated_call("looking", os.getpid)


def test_a_crash_is_seen_though_a_helper_lives_on(tmp_path):
    note = tmp_path / "pid"
    with pytest.raises(ModelError, match=r"crashed while reading 'x' \(killed by SIGSEGV"):
        isolated_call("reading 'x'", os.system, f"sleep 600 & echo $! > {note}; kill -11 $PPID", limit_s=60.0)
    os.kill(int(note.read_text()), signal.SIGKILL)


def test_helpers_end_with_a_process_that_hangs(tmp_path):
    note = tmp_path / "pid"
    with pytest.raises(ModelError, match="did not end within the 2 s"):
        isolated_call("reading 'x'", os.system, f"sleep 60 & echo $! > {note}; wait", limit_s=2.0)
    helper = int(note.read_text())
    waited = time.monotonic() + 10
    while _runs(helper) and time.monotonic() < waited:
        time.sleep(0.05)
    assert not _runs(helper)


def _runs(pid):
    """Return whether a process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_that_ends_by_itself_is_not_taken_for_a_crash_of_openvino():
    with pytest.raises(ModelError, match=r"^the process reading 'x' ended without an answer \(exit code 0\); run"):
        isolated_call("reading 'x'", os._exit, 0)


def test_a_process_that_hangs_is_killed(monkeypatch):
    monkeypatch.setattr(module, "DEADLINE_S", 1.0)
    with pytest.raises(ModelError, match=r"^OpenVINO did not finish reading 'x' within 1 s; export"):
        isolated_call("reading 'x'", time.sleep, 60)


def test_a_process_that_no_signal_ends_is_left_behind(monkeypatch):
    stuck = []
    monkeypatch.setattr(module, "kill_group", stuck.append)
    monkeypatch.setattr(module, "KILL_DEADLINE_S", 0.1)
    with pytest.raises(ModelError, match=r"^sleeping did not end within the 0\.2 s of the call"):
        isolated_call("sleeping", time.sleep, 60, limit_s=0.2)
    assert stuck[0].poll() is None
    stuck[0].kill()
    stuck[0].wait()


def test_errors_come_back_as_they_are():
    with pytest.raises(UsageError, match="is not understood"):
        isolated_call("parsing", parse_shapes, "[1,")
    with pytest.raises(ZeroDivisionError) as raised:
        isolated_call("dividing", divmod, 1, 0)
    assert "in main" in raised.value.__notes__[0], "where it happened, for --debug"


def test_ctrl_c_ends_the_other_process(monkeypatch):
    import subprocess

    started = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

        def wait(self, timeout=None):
            if self.returncode is None and len(started) == 1:
                started.append(self)
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        isolated_call("sleeping", time.sleep, 60)
    assert started[0].returncode == -9


def test_a_call_ends_with_its_time():
    with pytest.raises(ModelError, match=r"sleeping did not end within the 0.2 s of the call; give more with --time"):
        isolated_call("sleeping", time.sleep, 60, limit_s=0.2)


@pytest.mark.parametrize("working_s", [30.0, math.inf])
def test_the_time_that_a_function_was_told_to_work_is_not_taken_for_a_hang(monkeypatch, working_s):
    monkeypatch.setattr(module, "DEADLINE_S", 0.01)
    assert isolated_call("sleeping", time.sleep, 0.1, working_s=working_s) is None
