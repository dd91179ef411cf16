"""One training in a process of its own, which may be stopped at any moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ovplace.core import one_thread
from ovplace.errors import BackendError, InterruptedRunError, OvplaceError
from ovplace.measuring.interpreter import without_telemetry

Data = dict[str, Any]

SAVING_S = 20.0
"""Time for a training that is stopped to write its state; an update takes less than a second."""


class TrainingProcess:
    """One training. `run` and the others may be called from different threads."""

    def __init__(self, text: str, output: Path) -> None:
        """Start the process.

        Args:
            text: text of the plan.
            output: path of the policy file.
        """
        context = multiprocessing.get_context("spawn")
        self._answers, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(theirs, text, str(output)), daemon=True)
        with _without_the_current_folder():
            self._process.start()
        theirs.close()

    def run(self) -> Data:
        """Return what `run_training` returns.

        Raises:
            OvplaceError: what `run_training` raised, or the process ended without an answer.
        """
        try:
            report, error = self._answers.recv()
        except (EOFError, OSError):
            report, error = None, None
        self._process.join()
        if error is not None:
            raise error
        if report is None:
            code = self._process.exitcode
            raise BackendError(f"the process of a training ended with exit code {code}; is there enough memory?")
        found: Data = report
        return found

    def interrupt(self) -> None:
        """Let the process save its training and end; `end` waits for that."""
        pid = self._process.pid
        assert pid is not None, "it was started"
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)

    def end(self) -> None:
        """Wait until an interrupted process has ended; kill it if it does not."""
        self._process.join(SAVING_S)
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()


@contextmanager
def _without_the_current_folder() -> Iterator[None]:
    """Keep processes that are started here from importing what lies in the current folder, as `python -P` does."""
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _work(answers: Connection, text: str, output: str) -> None:
    """Train and send the report, or the error."""
    os.environ.update(one_thread.ENVIRONMENT)  # before NumPy and torch are imported
    without_telemetry()
    if sys.platform != "win32":
        os.setsid()  # Ctrl-C goes to the parent alone, which stops this process
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answers.send((_trained(text, Path(output)), None))
    except OvplaceError as error:
        answers.send((None, error))
    except KeyboardInterrupt:
        answers.send((None, InterruptedRunError("stopped before the first update")))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is a child"
    parent.join()
    os._exit(1)


def _trained(text: str, output: Path) -> Data:
    from ovplace.session.events import silent
    from ovplace.train.run_training import run_training
    from ovplace.train.training_plan import plan_of

    return run_training(plan_of(text), output, silent)
