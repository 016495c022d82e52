"""The scripted server.

It answers each request with the next `Script`, records what it was asked, and tells
whether the client closed its socket. It speaks raw HTTP/1.1, so that it can also do
what no proper server would: stall, cut off, answer nonsense.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self

import orjson

SCRIPT_HAS_ENDED = {"message": "the script has ended", "type": "fake"}


class BodyFraming(Enum):
    """How the client learns where a body ends."""

    CHUNKED = "chunked"
    """An early end of the connection shows."""
    UNTIL_CLOSE = "until_close"
    """An early end looks like any other."""
    NONE = "none"
    """The parts are the whole answer, status line and all."""


@dataclass(frozen=True, slots=True)
class Script:
    """One answer."""

    parts: Sequence[bytes | asyncio.Event] = ()
    """Sent one by one; an Event means silence until it is set."""
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("content-type", "application/json"),)
    framing: BodyFraming = BodyFraming.CHUNKED
    before_head: asyncio.Event | None = None
    """Nothing at all is sent until it is set."""
    is_cut: bool = False
    """Close the connection after the last part, without a proper end."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case."""

    body: bytes = field(repr=False)
    connection: int
    """Counts from 1: requests with equal numbers came over one connection."""
    client_closed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set when the client closes its socket before the answer has ended."""

    def json(self) -> Any:
        """Return the body read as JSON."""
        return orjson.loads(self.body)


ACCEPT_TURNS = 5
"""Turns of the loop that asyncio needs to accept a connection and hand it over."""


async def waiting_accepted() -> None:
    """Let servers of this loop accept the connections that wait; call before closing.

    A server that closes in between leaves the connection's socket open, and the warning
    about it appears in whatever test runs when the socket is collected.
    """
    for _ in range(ACCEPT_TURNS):
        await asyncio.sleep(0)


class FakeProvider:
    """The server. Answers with the scripts in turn, then with `default`."""

    def __init__(self, *scripts: Script, default: Script | None = None) -> None:
        self.scripts = deque(scripts)
        self.default = default
        self.requests: list[Recorded] = []
        self.arrived = asyncio.Event()
        """Set when a request has been read; clear it to wait for another."""
        self._connections = 0
        self._tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """Return the address to give to an endpoint, whatever its protocol."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await waiting_accepted()
        if self._server is not None:
            self._server.close()
        tasks, writers = [*self._tasks], [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.close()  # its task may never have begun
        closings = (writer.wait_closed() for writer in writers)
        await asyncio.gather(*closings, return_exceptions=True)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._connections += 1
        task = asyncio.create_task(self._converse(reader, writer, self._connections))
        self._tasks[task] = writer
        task.add_done_callback(self._tasks.pop)

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> None:
        try:
            first = await reader.read(1)
            while first:
                request = await _read_request(reader, first, number)
                self.requests.append(request)
                self.arrived.set()
                first = await self._answer(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _answer(
        self,
        request: Recorded,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bytes:
        """Answer, and return the first byte of the next request, if there is one."""
        script = self._next_script()
        sending = asyncio.create_task(_send(script, writer))
        listening = asyncio.create_task(_read_byte(reader))
        try:
            await asyncio.wait({sending, listening}, return_when="FIRST_COMPLETED")
            if not sending.done():
                request.client_closed.set()
                return b""
            sending.result()
            is_last = script.is_cut or script.framing is not BodyFraming.CHUNKED
            return b"" if is_last else await listening
        finally:
            sending.cancel()
            listening.cancel()
            await asyncio.gather(sending, listening, return_exceptions=True)

    def _next_script(self) -> Script:
        if self.scripts:
            return self.scripts.popleft()
        if self.default is None:
            return json_script({"error": SCRIPT_HAS_ENDED}, status=500)
        return self.default


def events_script(
    *parts: bytes | asyncio.Event,
    framing: BodyFraming = BodyFraming.CHUNKED,
    is_cut: bool = False,
) -> Script:
    """Return an event stream of raw `parts`."""
    headers = (("content-type", "text/event-stream"),)
    return Script(parts, headers=headers, framing=framing, is_cut=is_cut)


def json_script(
    value: Any, *, status: int = 200, headers: Sequence[tuple[str, str]] = ()
) -> Script:
    """Return `value` as a JSON answer."""
    kind = ("content-type", "application/json")
    return Script((orjson.dumps(value),), status=status, headers=(kind, *headers))


def event(value: Any, name: str = "") -> bytes:
    """Return `value` as one server-sent event, called `name` if it has a name."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + orjson.dumps(value) + b"\n\n"


async def _read_request(
    reader: asyncio.StreamReader, first: bytes, number: int
) -> Recorded:
    head = first + await reader.readuntil(b"\r\n\r\n")
    start, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = start.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Recorded(method, path, headers, body, number)


async def _read_byte(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(1)
    except ConnectionError:  # a reset is an end as well
        return b""


async def _send(script: Script, writer: asyncio.StreamWriter) -> None:
    if script.before_head is not None:
        await script.before_head.wait()
    if script.framing is not BodyFraming.NONE:
        writer.write(_head(script))
    for part in script.parts:
        if isinstance(part, asyncio.Event):
            await part.wait()
        elif part:
            writer.write(_frame(script, part))
            await writer.drain()
    if script.framing is BodyFraming.CHUNKED and not script.is_cut:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


def _head(script: Script) -> bytes:
    lines = [f"HTTP/1.1 {script.status} Scripted"]
    lines += [f"{name}: {value}" for name, value in script.headers]
    is_chunked = script.framing is BodyFraming.CHUNKED
    lines.append("transfer-encoding: chunked" if is_chunked else "connection: close")
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _frame(script: Script, part: bytes) -> bytes:
    if script.framing is not BodyFraming.CHUNKED:
        return part
    return b"%x\r\n%b\r\n" % (len(part), part)
