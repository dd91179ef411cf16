"""The web server of the page, for browsers on the machine of the scheduler."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from socket import create_server, socket

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from ovplace.errors import BackendError
from ovplace.fleet.dashboard.page import page_of
from ovplace.fleet.overview import Overview

HOST = "127.0.0.1"
"""Where it listens: this machine only, since it asks for no certificate."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

_OWN_NAMES = r"(localhost|127\.0\.0\.1)$"
"""Names under which it answers. A page of another site whose name is made to lead here (DNS rebinding) uses its own."""


class _Answer(RequestHandler):
    def initialize(self, overview: Callable[[], Overview]) -> None:
        self.overview = overview

    def set_default_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.set_header(name, value)


class _Page(_Answer):
    def get(self) -> None:
        self.finish(page_of(self.overview()))


class _Data(_Answer):
    def get(self) -> None:
        self.finish(asdict(self.overview()))


@asynccontextmanager
async def serving_dashboard(port: int, overview: Callable[[], Overview]) -> AsyncIterator[str]:
    """Serve the page while a block runs; yield its address.

    Args:
        port: to listen on; where it is in use, any free one is taken, as Dask does.
        overview: returns what the fleet does now.

    Raises:
        BackendError: the port cannot be listened on.
    """
    application = Application(log_function=lambda _: None)
    given = {"overview": overview}
    application.add_handlers(_OWN_NAMES, [("/", _Page, given), ("/fleet.json", _Data, given)])
    listening, server = _listening(port), HTTPServer(application)
    server.add_socket(listening)
    try:
        yield f"http://{HOST}:{listening.getsockname()[1]}"
    finally:
        server.stop()
        await server.close_all_connections()


def _listening(port: int) -> socket:
    try:
        listening = create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return _listening(0)
        why = error.strerror or error
        raise BackendError(f"cannot listen on {HOST}:{port} ({why}); choose another --dashboard-port") from error
    listening.setblocking(False)
    return listening
