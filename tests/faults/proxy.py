"""A TCP proxy that fails on command, to stand between the site and its servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

READ_BYTES = 1 << 16
Address = tuple[str, int] | Path
"""Host and port, or a Unix socket."""


class FaultProxy:
    """Passes bytes on in both directions, late, not at all, or until it cuts."""

    def __init__(self, target: Callable[[], Address]) -> None:
        """`target` is asked for each connection: the server may have moved."""
        self._target = target
        self._server: asyncio.Server | None = None
        self._passing = asyncio.Event()
        self._passing.set()
        self._is_refusing = False
        self._delay_s = 0.0
        self._connections: set[asyncio.Task[None]] = set()
        self.accepted = 0
        """Connections since it opened."""

    async def open(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def close(self) -> None:
        """Cut everything and stop listening."""
        assert self._server is not None
        self._server.close()
        self.heal()
        await self.cut()

    @property
    def port(self) -> int:
        """Return where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    # --- faults ----------------------------------------------------------------------

    def stall(self) -> None:
        """Pass nothing on any more, and cut nothing: a black hole."""
        self._passing.clear()

    def delay(self, seconds: float) -> None:
        """Pass each piece on so much later."""
        self._delay_s = seconds

    def refuse(self) -> None:
        """Drop new connections at once; those that are open go on."""
        self._is_refusing = True

    async def cut(self) -> None:
        """End every connection, as if its cable were pulled out and put back."""
        open_now = list(self._connections)
        for connection in open_now:
            connection.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)

    def heal(self) -> None:
        """Pass everything on again."""
        self._is_refusing = False
        self._delay_s = 0.0
        self._passing.set()

    # --- connections -----------------------------------------------------------------

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.accepted += 1
        try:
            if not self._is_refusing:
                await self._join(reader, writer)
        except asyncio.CancelledError:
            pass  # cut; not cancelled by anybody who waits for this
        except OSError:
            pass  # the server is down, or one side has gone: so has the other
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _join(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await self._passing.wait()
        target = self._target()
        if isinstance(target, Path):
            theirs = await asyncio.open_unix_connection(target)
        else:
            theirs = await asyncio.open_connection(*target)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass(reader, theirs[1]))
                both.create_task(self._pass(theirs[0], writer))
        except* OSError:
            pass
        finally:
            theirs[1].transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(READ_BYTES):
            await self._passing.wait()
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            writer.write(data)
            await writer.drain()
        with suppress(OSError):
            writer.write_eof()
