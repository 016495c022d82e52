"""The lines of a batch's results: one for each request, made of its run's record."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from apps.batches.models import BatchLine, LineState
from apps.core.errors import NotFound
from apps.engine.events import RunCompleted
from apps.gateway.batches.kinds import RequestKind
from apps.gateway.errors import failure_of_run
from apps.runs.types import RunRecord

ReadRecord = Callable[[uuid.UUID], RunRecord]
"""Returns what is on record of a run. Raises: NotFound."""
WriteLines = Callable[[Iterator[BatchLine], RequestKind, ReadRecord], Iterator[bytes]]
"""Returns the lines of one file of results."""
GONE = {"code": "result_gone", "message": "the run's record is not there any more"}


def answer_lines(
    lines: Iterator[BatchLine], kind: RequestKind, read: ReadRecord
) -> Iterator[bytes]:
    """Return a line for each request that has an answer."""
    for line in lines:
        if line.state == LineState.COMPLETED:
            yield _encoded(line, _of_run(line, kind, read))


def error_lines(
    lines: Iterator[BatchLine], kind: RequestKind, read: ReadRecord
) -> Iterator[bytes]:
    """Return a line for each request that has none."""
    for line in lines:
        if line.state == LineState.COMPLETED:
            continue
        if line.error is None:
            yield _encoded(line, _of_run(line, kind, read))
        elif line.status is None:
            yield _encoded(line, {"response": None, "error": line.error})
        else:
            yield _encoded(line, _response(line, line.status, line.error))


def _of_run(line: BatchLine, kind: RequestKind, read: ReadRecord) -> dict[str, Any]:
    try:
        record = read(line.run_id)
    except NotFound:
        return {"response": None, "error": GONE}
    summary = record.summary
    if summary is None:
        return {"response": None, "error": GONE}
    end = summary.end
    if isinstance(end, RunCompleted):
        return _response(line, 200, kind.document(record, summary, end))
    failure = failure_of_run(end, question=kind.question)
    return _response(line, failure.status, failure.body())


def _response(line: BatchLine, status: int, body: dict[str, Any]) -> dict[str, Any]:
    response = {"status_code": status, "request_id": line.run_id.hex, "body": body}
    return {"response": response, "error": None}


def _encoded(line: BatchLine, outcome: dict[str, Any]) -> bytes:
    head = {"id": f"batch_req_{line.run_id.hex}", "custom_id": line.custom_id}
    return orjson.dumps({**head, **outcome}) + b"\n"
