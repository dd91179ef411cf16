"""Signals: what was measured is saved, nothing is left behind, the exit code names the signal, the folder continues."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ovplace.cli import stopping
from ovplace.testing.faults.left_behind import Marked

slow = pytest.mark.slow


def until(stream, moment):
    """Read lines until one has the word; return all."""
    said = []
    for line in stream:
        said.append(line)
        if moment in line:
            return said
    raise AssertionError(said)


@dataclass(frozen=True)
class Start:
    """Starts a run, and finds what it leaves."""

    command: list[str]
    folder: Path
    marked: Marked

    def __call__(self, **options):
        options = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
        return subprocess.Popen(self.command, text=True, env=self.marked.environment, **options)


@pytest.fixture
def start(program, tiny, tmp_path, quick):
    folder = tmp_path / "run"
    return Start([*program, "optimize", str(tiny), "-o", str(folder), "-v", *quick], folder, Marked(tmp_path / "tmp"))


def continues(start, begun=True):
    assert start.marked.left_behind(start.folder) == []
    again = subprocess.run([*start.command, "--json"], capture_output=True, text=True, check=True)
    assert ("continuing the run" in again.stderr) or not begun
    assert json.loads(again.stdout)["search"]["trials"] == 3


@pytest.mark.parametrize(
    ("number", "code", "moment"),
    [
        pytest.param(signal.SIGINT, 130, "groups", marks=slow),
        pytest.param(signal.SIGINT, 130, "search", marks=slow),
        pytest.param(signal.SIGTERM, 143, "groups", marks=slow),
        pytest.param(signal.SIGTERM, 143, "search", id="SIGTERM"),
        pytest.param(signal.SIGHUP, 129, "search", marks=slow),
    ],
)
def test_a_signal_saves_and_the_same_command_continues(start, number, code, moment):
    with start() as run:
        said = until(run.stderr, moment)
        run.send_signal(number)
        rest, out = run.stderr.read(), run.stdout.read()
    assert run.returncode == code, said
    assert out == ""
    assert rest.splitlines()[-1].startswith("Error: stopped; everything measured is saved")
    assert "Traceback" not in rest
    continues(start, begun=moment == "search")


TELLING = [
    sys.executable,
    "-c",
    "import os\n"
    "from ovplace.cli import main, stopping\n"
    "stopping.PATIENCE_S = 600.0\n"
    "handle = stopping._Handler.__call__\n"
    "def telling(*given):\n"
    "    try: handle(*given)\n"
    "    finally: os.write(2, b'the signal was handled\\n')\n"
    "stopping._Handler.__call__ = telling\n"
    "main()\n",
]
"""The command, which says when Python has handled a signal: it does so between two steps of its own only, and handles
those that have come by then in the order of their numbers. However slow it is, no signal ends it at once."""


@slow
@pytest.mark.parametrize(
    ("second", "pause_s"),
    [
        (signal.SIGINT, None),
        (signal.SIGINT, 0.05),
        (signal.SIGTERM, 0.0),
        (signal.SIGTERM, 0.3),
        (signal.SIGHUP, None),
        (signal.SIGHUP, 0.05),
    ],
)
def test_a_second_signal_disturbs_nothing(start, program, second, pause_s):
    telling = replace(start, command=TELLING + start.command[len(program) :])
    with telling() as run:
        until(run.stderr, "search")
        run.send_signal(signal.SIGINT)
        if pause_s is not None:
            until(run.stderr, "the signal was handled")
            time.sleep(pause_s)
        run.send_signal(second)
        rest = run.stderr.read()
    either = (130, 128 + second)  # signals that come together are handled in any order
    assert run.returncode in (either if pause_s is None else (130,))
    assert "Traceback" not in rest
    continues(start)


@slow
def test_a_closed_terminal_saves(start):
    ours, theirs = pty.openpty()
    said = b""

    def own_session():
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    with start(stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_session) as run:
        os.close(theirs)
        while b"search" not in said:
            said += os.read(ours, 1000)
        os.close(ours)  # the terminal's window is gone: the kernel sends SIGHUP to the session, writing gives EIO
        with suppress(ProcessLookupError):
            run.send_signal(signal.SIGHUP)  # the shell sends one, too
        assert run.wait(60) == 129
    continues(start)


@slow
def test_a_run_goes_on_without_the_terminal_it_was_started_from(start):
    ours, theirs = pty.openpty()
    said = b""
    ignoring = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731 - as `nohup` does
    with start(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, preexec_fn=ignoring) as run:
        os.close(theirs)
        while b"baselines" not in said:
            said += os.read(ours, 1000)
        os.close(ours)
        run.wait(60)
    assert json.loads((start.folder / "result.json").read_text())["search"]["trials"] == 3


@pytest.fixture
def handlers():
    """Put the handlers back that a stopped command keeps to its end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_exit_code_of_a_saved_run_names_the_signal():
    program = (
        "import os, signal, time\n"
        "from ovplace.cli.errors import exit_code\n"
        "from ovplace.cli.output.console import Console\n"
        "from ovplace.errors import InterruptedRunError, UsageError\n"
        "before = signal.getsignal(signal.SIGTERM)\n"
        "def stop_here():\n"
        "    os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
        "def saved():\n"
        "    try: stop_here()\n"
        "    except KeyboardInterrupt as error: raise InterruptedRunError('stopped; saved') from error\n"
        "def importing():\n"
        "    try: stop_here()\n"
        "    except KeyboardInterrupt: pass\n"
        "    raise ImportError('initialization failed')\n"
        "def loading():\n"
        "    try: stop_here()\n"
        "    except KeyboardInterrupt as stopped: error = ImportError(); error.__cause__ = stopped\n"
        "    raise UsageError('the backend cannot be imported') from error\n"
        "assert exit_code(Console(), lambda: None) == 0\n"
        "assert signal.getsignal(signal.SIGTERM) == before\n"
        "assert exit_code(Console(), stop_here) == 143\n"
        "signal.signal(signal.SIGTERM, before)\n"
        "assert exit_code(Console(), saved) == 143\n"
        "signal.signal(signal.SIGTERM, before)\n"
        "assert exit_code(Console(), importing) == 143\n"
        "signal.signal(signal.SIGTERM, before)\n"
        "assert exit_code(Console(), loading) == 143\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.splitlines() == ["Stopped", "Error: stopped; saved", "Stopped", "Stopped"]


def test_a_later_signal_ends_a_save_that_hangs():
    program = (
        "import os, signal, time\n"
        "from ovplace.cli import stopping\n"
        "stopping.PATIENCE_S = 0.0\n"
        "with stopping.stopping_by_signals():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT); time.sleep(1)\n"
        "    except KeyboardInterrupt:\n"
        "        os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=30).returncode == 143


def test_a_signal_cancels_an_event_loop_between_its_callbacks():
    """The task that would be lost, had the handler raised: its callback sends the signal."""
    program = (
        "import asyncio, os, signal\n"
        "from ovplace.cli.errors import exit_code\n"
        "from ovplace.cli.fleet.event_loop import run_until_stopped\n"
        "from ovplace.cli.output.console import Console\n"
        "async def last_words():\n"
        "    try: await asyncio.sleep(60)\n"
        "    finally: print('ended')\n"
        "async def main():\n"
        "    task = asyncio.create_task(last_words())\n"
        "    await asyncio.sleep(0)\n"
        "    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)\n"
        "    await task\n"
        "assert exit_code(Console(), lambda: run_until_stopped(main())) == 143\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('the second of a pair is ignored')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["ended", "the second of a pair is ignored"]
    assert done.stderr == "Stopped\n"


def test_a_later_signal_ends_an_event_loop_that_hangs():
    program = (
        "import asyncio, os, signal\n"
        "from ovplace.cli import stopping\n"
        "from ovplace.cli.fleet.event_loop import run_until_stopped\n"
        "stopping.PATIENCE_S = 0.0\n"
        "async def main():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    try: await asyncio.sleep(60)\n"
        "    except asyncio.CancelledError: os.kill(os.getpid(), signal.SIGTERM); await asyncio.sleep(60)\n"
        "run_until_stopped(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=30).returncode == 143


def test_what_is_ignored_stays_ignored(handlers):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with stopping.stopping_by_signals():
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
