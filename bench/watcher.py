"""A browser's websocket on a run's page, as cheap as possible for who measures.

Speaks RFC 6455 with the compression that browsers offer (RFC 7692), answers pings, and
keeps account of what came: frames, tokens with their times, entries, gaps.
"""

from __future__ import annotations

import asyncio
import base64
import os
import time
import zlib
from math import ceil
from typing import Any
from urllib.parse import urlsplit

import orjson

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
COMPRESSED = 0x40
"""The bit of a frame's first byte (RFC 7692, section 6)."""
TAIL = b"\x00\x00\xff\xff"
TOKEN_CHARACTERS = len(f"{time.monotonic_ns()} ")
"""Of a token of `clock-…`."""
NORMAL = 1000
JOIN_S = 30.0
"""Longest wait until a websocket has been told all that happened before."""


class Watcher(asyncio.Protocol):
    """One websocket, from the handshake to its close."""

    def __init__(self, host: str, run_id: str, cookie: str) -> None:
        loop = asyncio.get_running_loop()
        self.run_id = run_id
        self.joined: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.frames: list[int] = []
        """When each frame came, in ns."""
        self.tokens: list[tuple[int, int]] = []
        """When each token was sent by the model and when it came here, in ns."""
        self.seqs: list[int] = []
        self.lost_tokens = 0
        """Of pieces that never came although later ones did."""
        self.overtaken_tokens = 0
        """That came first with the entry of their step's end, which has all of them."""
        self.doubled_pieces = 0
        self.has_ended_well = False
        self.was_accepted = False
        self._host, self._cookie = host, cookie
        self._buffer = b""
        self._is_open = False
        self._message: list[bytes] = []
        self._is_compressed = False
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._begin: int | None = None
        """Where in the text this watcher joined: 0 in the process that executes it."""
        self._end = 0
        """Up to where it has come since."""
        self._seen = 0
        """Tokens so far."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        lines = (
            f"GET /ws/runs/{self.run_id}/ HTTP/1.1",
            f"host: {self._host}",
            f"origin: http://{self._host}",
            f"cookie: {self._cookie}",
            "connection: Upgrade",
            "upgrade: websocket",
            "sec-websocket-version: 13",
            f"sec-websocket-key: {base64.b64encode(os.urandom(16)).decode()}",
            "sec-websocket-extensions: permessage-deflate; client_max_window_bits",
        )
        self._transport.write("\r\n".join(lines).encode() + b"\r\n\r\n")

    def leave(self) -> None:
        """Go away without a word, as a closed window does."""
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        for future in (self.joined, self.ended):
            if not future.done():
                future.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._is_open:
            head, separator, rest = self._buffer.partition(b"\r\n\r\n")
            if not separator:
                return
            if not head.startswith(b"HTTP/1.1 101"):
                self._transport.close()
                return
            self._is_open = self.was_accepted = True
            self._buffer = rest
        while self._take_frame():
            pass

    def _take_frame(self) -> bool:
        buffer = self._buffer
        if len(buffer) < 2:
            return False
        length, at = buffer[1] & 0x7F, 2
        if length >= 126:
            size = 2 if length == 126 else 8
            length, at = int.from_bytes(buffer[2 : 2 + size], "big"), 2 + size
            if len(buffer) < at:
                return False
        if len(buffer) < at + length:
            return False
        payload, self._buffer = buffer[at : at + length], buffer[at + length :]
        self._frame(buffer[0], payload)
        return True

    def _frame(self, first: int, payload: bytes) -> None:
        opcode = first & 0x0F
        if opcode == PING:
            self._send(PONG, payload)
        elif opcode == CLOSE:
            code = int.from_bytes(payload[:2], "big")
            self.has_ended_well = self.has_ended_well and code == NORMAL
            self._send(CLOSE, payload[:2])
            self._transport.close()
        else:
            if opcode == TEXT:
                self._is_compressed = bool(first & COMPRESSED)
            self._message.append(payload)
            if first & 0x80:
                whole = b"".join(self._message)
                self._message.clear()
                if self._is_compressed:
                    whole = self._inflate.decompress(whole + TAIL)
                self._read(orjson.loads(whole))

    def _send(self, opcode: int, payload: bytes) -> None:
        # A mask of zeros is a mask.
        head = bytes((0x80 | opcode, 0x80 | len(payload)))
        self._transport.write(head + bytes(4) + payload)

    # --- what the frames say ---------------------------------------------------------

    def _read(self, frame: dict[str, Any]) -> None:
        now = time.monotonic_ns()
        self.frames.append(now)
        match frame["type"]:
            case "pieces":
                for piece in frame["pieces"]:
                    self._piece(piece, now)
            case "event":
                self.seqs.append(frame["seq"])
                if frame["action"] == "step.completed":
                    text = frame["bodies"]["text"][self._begin or 0 :]
                    unseen = len(text.split()) - self._seen
                    self.overtaken_tokens = unseen - self.lost_tokens
            case "caught_up":
                self.joined.set_result(None)
            case "end":
                self.has_ended_well = True

    def _piece(self, piece: dict[str, Any], now: int) -> None:
        if self._begin is None:
            self._begin = self._end = piece["offset"]
        if piece["offset"] < self._end:
            self.doubled_pieces += 1
        gap = piece["offset"] - self._end
        self.lost_tokens += ceil(gap / TOKEN_CHARACTERS)
        self._end = piece["offset"] + len(piece["text"])
        stamps = piece["text"].split()
        self._seen += len(stamps)
        self.tokens.extend((int(stamp), now) for stamp in stamps)


async def watch(site: str, run_id: str, cookie: str) -> Watcher:
    """Open a websocket on a run and return it when it is up to date, or has ended well.

    Raises: RuntimeError if it was refused or closed otherwise.
    """
    netloc = urlsplit(site).netloc
    host, _, port = netloc.partition(":")
    loop = asyncio.get_running_loop()
    _, watcher = await loop.create_connection(
        lambda: Watcher(netloc, run_id, cookie), host, int(port)
    )
    async with asyncio.timeout(JOIN_S):
        await watcher.joined
    if watcher.ended.done() and not watcher.has_ended_well:
        raise RuntimeError("a websocket was refused or closed at once")
    return watcher
