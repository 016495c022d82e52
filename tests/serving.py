"""Real servers for tests: on a free port of this machine, in a thread of their own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import uvicorn

from apps.llm.testing.server import waiting_accepted
from tests.patience import PATIENCE_S

CLOSE_S = 1
"""How long open connections may take to end by themselves."""
CLOSE_INTERVAL_S = 0.005
T = TypeVar("T")


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = threading.Event()
        self.loop: asyncio.AbstractEventLoop
        self._exit: asyncio.Event

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop, self._exit = asyncio.get_running_loop(), asyncio.Event()
        await super().startup(sockets=sockets)
        self.is_ready.set()

    async def main_loop(self) -> None:
        """Wait for `exit`, which uvicorn would look for ten times a second."""
        await self.on_tick(0)  # sets the headers of all answers
        await self._exit.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Do what uvicorn does, without its pauses."""
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        await self.close_connections()
        for server in self.servers:
            await server.wait_closed()
        await self.lifespan.shutdown()

    def exit(self) -> None:
        """Begin to stop; called in another thread."""
        self.loop.call_soon_threadsafe(self._exit.set)

    async def close_connections(self) -> None:
        """Close what clients have open, as at a shutdown; the server goes on."""
        await waiting_accepted()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(CLOSE_S):
                # Both are sets of uvicorn's, which sends no signal.
                while state.connections or state.tasks:  # noqa: ASYNC110
                    await asyncio.sleep(CLOSE_INTERVAL_S)
        except TimeoutError:
            for task in state.tasks:
                task.cancel()


@contextmanager
def serving(app: Any, **options: Any) -> Iterator[str]:
    """Serve an ASGI application and give its address."""
    with _running(app, **options) as (_, url):
        yield url


@contextmanager
def _running(app: Any, **options: Any) -> Iterator[tuple[_Server, str]]:
    settings = {
        "access_log": False,
        "log_level": "error",
        # Past every client's own limit: a busy client notices the closing too late.
        "timeout_keep_alive": 10 * PATIENCE_S,
        **options,
    }
    config = uvicorn.Config(app, timeout_graceful_shutdown=CLOSE_S, **settings)
    server = _Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert server.is_ready.wait(PATIENCE_S), "the server did not start"
            yield server, f"http://127.0.0.1:{port}"
        finally:
            server.exit()
            thread.join(PATIENCE_S)


class LastingServer:
    """A server for many tests, whose application opens and closes for each of them.

    The listening socket and the event loop stay. Everything that the application opens
    in its lifespan is new for each test, and so are the threads of the loop; nothing
    that a test has left on the loop is there for the next one.
    """

    def __init__(self, app: Any, server: _Server, url: str) -> None:
        self._app = app
        self._server = server
        self.url = url

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open the application for the length of a block."""
        lifespan = _Lifespan(self._app)
        self._do(lifespan.open())
        try:
            yield
        finally:
            self._do(self._close(lifespan))
            lifespan.threads.shutdown()

    async def _close(self, lifespan: _Lifespan) -> None:
        await self._server.close_connections()
        await lifespan.close()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._server.loop)
        return future.result(PATIENCE_S)


class _Lifespan:
    """The time between the opening and the closing of an application."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def open(self) -> None:
        """Return when the application has opened."""
        self.threads = ThreadPoolExecutor(thread_name_prefix="asyncio")
        asyncio.get_running_loop().set_default_executor(self.threads)
        self._former_tasks = asyncio.all_tasks()
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        work = self._app(scope, self._to_app.get, self._from_app.put)
        self._task = asyncio.create_task(work)
        await self._expect("startup")

    async def close(self) -> None:
        """Return when the application has closed and nothing of it is left."""
        try:
            await self._expect("shutdown")
        finally:
            rest = asyncio.all_tasks() - self._former_tasks - {asyncio.current_task()}
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

    async def _expect(self, step: str) -> None:
        await self._to_app.put({"type": f"lifespan.{step}"})
        answer = asyncio.create_task(self._from_app.get())
        await asyncio.wait({answer, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            self._task.result()
        assert answer.result()["type"] == f"lifespan.{step}.complete"


@contextmanager
def lasting_server(app: Any, **options: Any) -> Iterator[LastingServer]:
    """Serve an application that is opened for one test after the other."""
    with _running(app, lifespan="off", **options) as (server, url):
        yield LastingServer(app, server, url)
