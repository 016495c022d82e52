"""Plain data between two programs: JSON that keeps tuples, sets, bytes and so on."""

from __future__ import annotations

import json
import socket
import struct
import sys
from typing import Any

MAX_MESSAGE = 64 << 20
"""Bytes."""
PLAIN: tuple[type[Any], ...] = (bool, int, float, str, type(None))
GROUPS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def encoded(value: Any) -> Any:
    """Return plain data as JSON values. Raises: TypeError if it is something else."""
    if type(value) in PLAIN:
        return value
    for name, kind in GROUPS.items():
        if isinstance(value, kind):
            return {name: [encoded(each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[encoded(k), encoded(v)] for k, v in value.items()]}
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, int | float | str):  # of a kind of its own, such as IntEnum
        return next(each(value) for each in PLAIN if isinstance(value, each))
    raise TypeError(f"{type(value).__name__} is no plain data")


def decoded(value: Any) -> Any:
    """Return what `encoded` was given. Raises: ValueError, TypeError."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("a list without its kind")
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {decoded(k): decoded(v) for k, v in content}
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "complex":
        return complex(*content)
    return GROUPS[kind](decoded(each) for each in content)


def send(peer: socket.socket, value: Any) -> None:
    """Send JSON values, with their length before them."""
    content = json.dumps(value).encode()
    peer.sendall(struct.pack("!I", len(content)) + content)


def receive(peer: socket.socket) -> Any:
    """Return what the other program sent. Raises: EOFError, ValueError."""
    (length,) = struct.unpack("!I", _exactly(peer, 4))
    if length > MAX_MESSAGE:
        raise ValueError("the message is too long")
    return json.loads(_exactly(peer, length))


def _exactly(peer: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = peer.recv(min(length - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def long_numbers_allow() -> None:
    """Let numbers of any length be written and read."""
    sys.set_int_max_str_digits(0)
