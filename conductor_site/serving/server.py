"""uvicorn, with a way to stop that loses no request.

SIGTERM begins the drain (`drain.py`): notice, then open answers and live runs may end.
Clients of what has not ended by then learn that the process restarts, and their runs
go to other processes. A second signal stops at once. CLOSE_S after the drain it has
ended, whatever does not answer.
"""

from __future__ import annotations

import asyncio
import signal
from types import FrameType

import uvicorn
from django.conf import settings

from apps.audit.writer_process import fork_writer
from apps.runs.execution.executor import close_executor
from conductor_site.serving.drain import LOOK_S, drain
from conductor_site.serving.uvicorn_protocol import JoiningProtocol
from conductor_site.shutdown_deadline import CLOSE_S, end_within

TELL_S = 3
"""How long clients may take to receive the reason why their answers do not end."""


class Server(uvicorn.Server):
    """One web process."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; see the module."""
        if drain.has_begun:
            drain.hurry()
            end_within(CLOSE_S)
        else:
            # Who stops it at the keyboard waits for no proxy.
            notice_s = settings.WEB_NOTICE_S if sig == signal.SIGTERM else 0
            drain.begin(notice_s=notice_s, drain_s=settings.WEB_DRAIN_S)
            end_within(notice_s + settings.WEB_DRAIN_S + CLOSE_S)

    async def on_tick(self, counter: int) -> bool:
        """Say whether to close the listening sockets now; asked ten times a second."""
        return await super().on_tick(counter) or drain.is_noticed

    async def _wait_tasks_to_complete(self) -> None:
        """Let open answers end; after the drain give the runs behind them back.

        uvicorn's own, which it calls once it listens no more; its timeout comes later.
        """
        waiting = asyncio.create_task(super()._wait_tasks_to_complete())
        try:
            while drain.rest_s and not waiting.done():
                # A little at a time: a second signal shortens the rest.
                await asyncio.wait([waiting], timeout=min(LOOK_S, drain.rest_s))
            if not waiting.done():
                await close_executor()  # streams end with the reason
            await waiting
        finally:
            waiting.cancel()


def serve(*, host: str, port: int, proxies: str) -> None:
    """Serve the site until a signal.

    `proxies`: whose forwarded addresses are believed, separated by commas; `*`: those
    of whatever connects; empty: none.
    """
    fork_writer()
    is_any = proxies.strip() == "*"
    config = uvicorn.Config(
        f"conductor_site.{'forwarded' if is_any else 'asgi'}:application",
        host=host,
        port=port,
        access_log=False,
        log_config=None,  # its records go where all others go
        log_level="warning",
        timeout_graceful_shutdown=settings.WEB_DRAIN_S + TELL_S,
        ws_max_size=65_536,
        http=JoiningProtocol,
        lifespan="on",  # "auto" would serve on after a failed start, without a word
        proxy_headers=bool(proxies) and not is_any,
        forwarded_allow_ips=proxies,
        server_header=False,
    )
    Server(config).run()
