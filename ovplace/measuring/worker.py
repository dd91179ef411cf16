"""The child's main program: imports and builds one backend when told to, then answers requests until they end."""

from __future__ import annotations

import faulthandler
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from ovplace.core.measurement import Job
from ovplace.errors import BackendError, OvplaceError
from ovplace.measuring.child import Call, ChildDiedError, Method, Reply
from ovplace.measuring.messages import data_of
from ovplace.plugins import registry
from ovplace.plugins.protocols import Backend

GRACE_S = 2.0
"""The parent kills at the deadline; this much later the child ends by itself."""

METHODS: Mapping[Method, Callable[..., object]] = {
    "automatic": lambda backend, target: backend.automatic(target),
    "costs": lambda backend, partition: backend.costs(partition),
    "facts": lambda backend: backend.facts(),
    "measure": lambda backend, candidates, spec: backend.measure(candidates, spec),
    "supported": lambda backend: backend.supported(),
}
"""The function of the backend and the request's arguments that each method calls."""


def _peak_mib() -> float:
    """Return the largest resident size so far in MiB, 0 where the platform does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    # `ru_maxrss` of Linux begins with the peak of the process that started this one.
    with suppress(OSError, StopIteration), Path("/proc/self/status").open(encoding="ascii", errors="replace") as status:
        return int(next(line for line in status if line.startswith("VmHWM:")).split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _read(stream: IO[bytes], messages: queue.SimpleQueue[Any]) -> None:
    """Pass messages on; when the parent is gone, end at once, even in the middle of a compilation that hangs."""
    try:
        while True:
            messages.put(pickle.load(stream))
    except Exception:  # a parent that was killed in the middle of a message has left half of it
        if sys.platform != "win32":
            os.killpg(0, signal.SIGKILL)  # helpers that runtimes have forked, too
        os._exit(0)


def guarded(act: Callable[[], Any]) -> Reply:
    """Run `act` and return its value or its error as an answer."""
    try:
        return Reply(act())
    except OvplaceError as error:
        own = type(error).__module__.startswith("ovplace.")
        return Reply(error=error if own else BackendError(str(error)))
    except Exception as error:  # of a plug-in, or of what it calls
        words = " ".join(str(error).split())
        return Reply(error=ChildDiedError(f"{type(error).__name__} in the measuring process: {words}"))


class _Served:
    """The one backend of this process, which comes to be in two steps."""

    _factory: type[Backend]
    _job: Job
    _backend: Backend

    def preload(self, name: str, job: Job) -> None:
        self._factory, self._job = registry.load("backends", name).factory, job
        self._factory.preload(job)

    def build(self) -> None:
        self._backend = self._factory(self._job)

    def answer(self, call: Call) -> object:
        return METHODS[call.method](self._backend, *call.arguments)


def main() -> None:
    """Serve the parent. Plugins that print must not disturb the answers: standard output goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # Not `sys.stdin`: a thread that waits in it makes the interpreter abort when it ends.
    requests = open(0, "rb", closefd=False)  # noqa: SIM115 - a descriptor, open to the end
    threading.Thread(target=_read, args=(requests, messages), daemon=True).start()

    def reply(answer: Reply) -> None:
        answers.write(data_of(Reply(answer.value, answer.error, _peak_mib())))
        answers.flush()

    served = _Served()
    reply(guarded(partial(served.preload, *messages.get())))
    messages.get()
    answer = guarded(served.build)
    while True:
        reply(answer)
        call: Call = messages.get()
        # A hang in native code may keep `_read` from running: without a parent, nobody else would ever end it.
        faulthandler.dump_traceback_later(min(call.deadline_s + GRACE_S, threading.TIMEOUT_MAX), exit=True)
        answer = guarded(partial(served.answer, call))
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
