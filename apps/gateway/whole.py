"""Answers with a run in one piece, once it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from apps.engine.events import RunCompleted
from apps.gateway.chat_completions.documents import cost_text
from apps.gateway.errors import failure_of_run
from apps.gateway.exchange import Exchange, Headers
from apps.gateway.run_handles import RunHandle
from apps.runs.types import RunSummary


async def answer_whole(
    exchange: Exchange,
    started: RunHandle,
    document_of: Callable[[RunSummary, RunCompleted], dict[str, Any]],
    *,
    question: str,
    is_large: bool = False,
) -> None:
    """Wait for the end of a run, and answer with its document or its failure.

    `question`: the field of the request that holds the conversation, for failures that
    are about it. `is_large`: the document takes so long to make and write that a thread
    does it. A client that leaves, leaves the run.
    """
    watcher = asyncio.ensure_future(exchange.watch_disconnect(started.leave))
    try:
        summary = await started.run.finished()
    finally:
        watcher.cancel()
    headers, end = account_headers(summary), summary.end
    if isinstance(end, RunCompleted):
        if not is_large:
            await exchange.send_json(200, document_of(summary, end), headers)
            return
        body = await asyncio.to_thread(lambda: orjson.dumps(document_of(summary, end)))
        await exchange.send_whole(200, body, b"application/json", headers)
    else:
        await exchange.send_failure(failure_of_run(end, question=question), headers)


def account_headers(summary: RunSummary) -> Headers:
    """Return what the answer's head tells of a run that has ended."""
    headers = [
        (b"x-conductor-cost-usd", cost_text(summary.end.cost_micros).encode()),
        (b"x-conductor-overhead-ms", b"%d" % summary.end.overhead_ms),
    ]
    if summary.worker and isinstance(summary.end, RunCompleted):
        headers.append((b"x-conductor-worker", summary.worker.encode("ascii")))
    return headers
