"""Sends bytes over a TLS connection of their own, for receivers that answer nothing.

What the receiver has read is known from how the connection ends: it answers our
`close_notify`, or closes, only after all that came before it. A reset means that
something was left unread. Source: RFC 5425, section 4.4; RFC 8446, section 6.1.
"""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass

from apps.llm.address_policy import AddressPolicy
from apps.llm.errors import ConnectFailed, Incomplete, LlmError, TotalTimeout

PIECE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class TlsMessage:
    """Bytes for a receiver."""

    name: str
    """Whom error messages name."""
    host: str
    port: int
    body: bytes
    timeout_s: float
    """For all of it, once the name of the host is looked up."""


def tls_send(message: TlsMessage, addresses: AddressPolicy) -> None:
    """Send a message and return once the receiver has read it. Blocks.

    The certificate must be of an authority that the system or SSL_CERT_FILE knows.
    Raises: LlmError.
    """
    places = _places(message, addresses)
    due = time.monotonic() + message.timeout_s
    try:
        with _connected(message, places, due) as connection:
            _send(connection, message.body, due)
            _finish(connection, due)
    except ssl.SSLCertVerificationError as exc:
        why = f"{message.name!r}: its certificate is not valid: {exc.verify_message}"
        raise ConnectFailed(why) from None
    except TimeoutError:
        raise TotalTimeout(f"{message.name!r}: took too long") from None
    except OSError as exc:
        why = exc.strerror or type(exc).__name__
        raise Incomplete(f"{message.name!r}: the connection broke: {why}") from None


def _places(message: TlsMessage, addresses: AddressPolicy) -> list[tuple[str, int]]:
    """Return the addresses of the host that may be used. Raises: LlmError."""
    try:
        rows = socket.getaddrinfo(
            message.host,
            message.port,
            type=socket.SOCK_STREAM,
            proto=socket.IPPROTO_TCP,
        )
    except OSError:
        raise ConnectFailed(f"{message.name!r}: the host is not known") from None
    found = [(str(peer[0]), message.port) for *_, peer in rows]
    allowed = [place for place in found if addresses.allows(*place)]
    if not allowed:
        raise ConnectFailed(
            f"{message.name!r}: the address is not in an allowed network"
        )
    return allowed


def _connected(
    message: TlsMessage, places: list[tuple[str, int]], due: float
) -> ssl.SSLSocket:
    """Return a connection to the first place that accepts one. Raises: OSError."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    fault: LlmError | None = None
    for place in places:
        try:
            plain = socket.create_connection(place, _left(due))
        except ConnectionError as exc:
            why = exc.strerror or type(exc).__name__
            fault = ConnectFailed(f"{message.name!r}: could not connect: {why}")
            continue
        with suppress(OSError):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname=message.host)
    assert fault is not None
    raise fault


def _send(connection: ssl.SSLSocket, body: bytes, due: float) -> None:
    for start in range(0, len(body), PIECE_BYTES):
        connection.settimeout(_left(due))
        connection.sendall(body[start : start + PIECE_BYTES])


def _finish(connection: ssl.SSLSocket, due: float) -> None:
    """Say that this was all, and wait until the receiver has read it."""
    connection.settimeout(_left(due))
    try:
        connection.unwrap().close()
    except ssl.SSLEOFError:
        return  # it closed without a word of TLS, but after reading all
    except ssl.SSLSyscallError as exc:
        if exc.errno not in (0, ssl.SSL_ERROR_SYSCALL):
            raise


def _left(due: float) -> float:
    """Return the time that is left in seconds. Raises: TimeoutError."""
    left = due - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
