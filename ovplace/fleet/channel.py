"""Connections that carry data and nothing else, on the TLS transport of Dask `distributed`.

Dask's own messages may hold pickled objects, which any peer's message makes the receiver unpickle before a handler sees
it: `distributed.protocol.core.loads` does so whatever it is told, and since 2026 its scheduler refuses to start with
`distributed.scheduler.pickle` off. Its scheduler and workers can thus not be held to known requests. What is used
here is its transport (TLS, framing, timeouts) with a reader of our own: one frame of plain MessagePack, no extensions.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from ssl import SSLError
from typing import Any

import msgpack
from distributed.comm.core import CommClosedError, Listener, connect, listen
from distributed.comm.registry import backends
from distributed.comm.tcp import TLS, TLSBackend, TLSConnector, TLSListener
from distributed.protocol.utils import unpack_frames
from tornado.iostream import StreamClosedError

from ovplace.errors import BackendError, DeviceError, StoreError, UsageError
from ovplace.fleet.certificates import Certificates, Role
from ovplace.fleet.limits import FleetLimits, MessageTooLongError

Message = dict[str, Any]

NOT_UNDERSTOOD = (
    LookupError, TypeError, ValueError, AttributeError, OverflowError, UsageError, DeviceError, StoreError
)  # fmt: skip
"""Errors of reading a message that another version of ovplace may have sent."""

_ADDED_BYTES = 2**16
"""What a message may be longer than the limit when it is read: the scheduler adds who sent what it passes on."""

_LAST_PORT = 65535

CONNECT_S = 10.0

_SCHEME = "ovplace-tls"
_LENGTH = struct.Struct("Q")


class ChannelClosedError(Exception):
    """The other side is gone, or sent what no message is."""


class _DataTLS(TLS):
    largest_bytes = FleetLimits().largest_bytes

    async def read(self, deserializers: object = None) -> Any:
        """Return the next message.

        Raises:
            CommClosedError: the connection has ended, or is ended because what came is no plain data.
            MessageTooLongError: it is ended because what comes is too long.
        """
        if self.stream is None:
            raise CommClosedError("closed")
        try:
            (length,) = _LENGTH.unpack(await self.stream.read_bytes(_LENGTH.size))
            if length > self.largest_bytes + _ADDED_BYTES:
                raise MessageTooLongError(length, self.largest_bytes)
            return _plain(await self.stream.read_bytes(length))
        except (StreamClosedError, SSLError) as error:
            self.abort()
            raise CommClosedError(str(error)) from error
        except (ValueError, TypeError, struct.error, OverflowError, AssertionError, msgpack.UnpackException) as error:
            self.abort()
            raise CommClosedError(f"no plain data: {error}") from error
        except BaseException:
            self.abort()
            raise


class _Connector(TLSConnector):
    comm_class = _DataTLS


class _Listener(TLSListener):
    comm_class = _DataTLS


class _Backend(TLSBackend):
    _connector_class = _Connector
    _listener_class = _Listener


backends[_SCHEME] = _Backend()


def _plain(data: bytes) -> Any:
    frames, missing = unpack_frames(data, partial=True)
    if len(frames) != 1 or missing:
        raise ValueError(f"{len(frames) + len(missing)} frames, a message of plain data has one")
    return _unpacked(frames[0])


def _unpacked(data: Any) -> Any:
    return msgpack.unpackb(data, ext_hook=_refuse, strict_map_key=False)


def _refuse(code: int, _: bytes) -> object:
    raise ValueError(f"extension {code}")


class Channel:
    """One connection."""

    def __init__(self, comm: Any) -> None:
        """Wrap a connection of `distributed`."""
        self._comm = comm

    @property
    def peer(self) -> str:
        """Address of the other side."""
        return str(self._comm.peer_address)

    @property
    def peer_role(self) -> str:
        """Common name in the certificate of the other side, which is its role."""
        subject = self._comm.extra_info.get("peercert", {}).get("subject", ())
        return next((value for part in subject for key, value in part if key == "commonName"), "")

    def limit(self, largest_bytes: int) -> None:
        """Send, and take, no longer messages; one that is too long ends the connection where it is taken."""
        self._comm.largest_bytes = largest_bytes

    async def send(self, message: Message, *, is_passed_on: bool = False) -> None:
        """Send a message.

        Args:
            message: plain data.
            is_passed_on: whether it came from another peer, which has looked at its length.

        Raises:
            ChannelClosedError: the other side is gone.
            MessageTooLongError: the message is longer than the limit, and was not sent.
            TypeError: the message is no plain data.
        """
        packed = msgpack.packb(message)
        if len(packed) > self._comm.largest_bytes and not is_passed_on:
            raise MessageTooLongError(len(packed), self._comm.largest_bytes)
        try:
            await self._comm.write(packed)
        except CommClosedError as error:
            raise ChannelClosedError(str(error)) from error

    async def receive(self) -> Message:
        """Return the next message.

        Raises:
            ChannelClosedError: the other side is gone, or sent what no message is.
        """
        try:
            message = await self._comm.read()
            unpacked = _unpacked(message) if isinstance(message, bytes) else None
        except (CommClosedError, MessageTooLongError, ValueError, TypeError, msgpack.UnpackException) as error:
            self.abort()
            raise ChannelClosedError(str(error)) from error
        if not isinstance(unpacked, dict) or not isinstance(unpacked.get("op"), str):
            self.abort()
            raise ChannelClosedError("what came is no message")
        return unpacked

    async def close(self) -> None:
        """Send what is left, and end the connection."""
        await self._comm.close()

    def abort(self) -> None:
        """End the connection at once."""
        self._comm.abort()


async def open_channel(address: str, certificates: Certificates, role: Role) -> Channel:
    """Connect to the scheduler.

    Args:
        address: as `tls://HOST:PORT`.
        certificates: of this machine.
        role: of this process.

    Raises:
        UsageError: the address cannot be read, or the certificates are no good.
        BackendError: nobody answers there, or one side refuses the other's certificate.
    """
    place = located(address)
    certificates.check(role)
    arguments = certificates.connection_arguments(role)
    try:
        return Channel(await connect(f"{_SCHEME}://{place}", CONNECT_S, deserialize=False, **arguments))
    except (OSError, ValueError) as error:
        raise BackendError(
            f"no connection to the scheduler at '{address}': {_why(error)}; is 'ovplace cluster scheduler' running "
            "there, with certificates of the same authority?"
        ) from error


def _why(error: BaseException) -> str:
    """Return why there is no connection: the first cause, without the objects that `distributed` names around it."""
    if isinstance(error, TimeoutError):
        return f"nobody answers as a scheduler within {CONNECT_S:g} s"
    return _why(error.__cause__) if error.__cause__ else " ".join(str(error).split())[:300]


async def open_listener(
    address: str, certificates: Certificates, handle: Callable[[Channel], Awaitable[None]]
) -> Listener:
    """Listen for workers and searches; return what `stop` ends.

    Args:
        address: as `tls://HOST:PORT`; port 0 chooses one.
        certificates: of this machine.
        handle: is called with each connection whose certificate is of the same authority.

    Raises:
        UsageError: the address cannot be read, or the certificates are no good.
        BackendError: it cannot be listened on.
    """

    async def accepted(comm: Any) -> None:
        await handle(Channel(comm))

    place = located(address)
    certificates.check(Role.SCHEDULER)
    arguments = certificates.listening_arguments()
    try:
        listener: Listener = listen(f"{_SCHEME}://{place}", accepted, deserialize=False, **arguments)
        await listener.start()
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise BackendError(f"cannot listen on '{address}': {why}; choose another with --host or --port") from error
    return listener


def located(address: str) -> str:
    """Return host and port of an address.

    Raises:
        UsageError: it is none, or not one of TLS.
    """
    scheme, separator, place = address.partition("://")
    host, _, port = place.rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= _LAST_PORT
    if scheme != "tls" or not separator or not host or "/" in host or not is_port:
        raise UsageError(f"'{address}' is not the address of a scheduler; write tls://HOST:PORT")
    return place
