"""Reads a file of requests: one JSON object on each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from apps.batches.models import MAX_NAME
from apps.batches.types import LineFault, LinePlace


def read_places(
    content: Iterable[bytes], *, endpoint: str, max_requests: int, max_line: int
) -> tuple[list[LinePlace], list[LineFault]]:
    """Return where the requests of a file stand, and what is wrong with it.

    `max_line`: bytes. The requests themselves are read when they are made: what is
    wrong with the body of one of them does not keep the others from being made.
    """
    places: list[LinePlace] = []
    faults: list[LineFault] = []
    known: set[str] = set()
    for number, (offset, line) in enumerate(_lines(content, max_line), start=1):
        if len(places) + len(faults) >= max_requests:
            message = f"the file holds more than {max_requests} requests"
            return places, [*faults, LineFault("too_many_requests", message)]
        if not line.strip():
            continue
        custom_id, fault = _check(line, number, endpoint, max_line)
        if fault is None and custom_id in known:
            message = f"custom_id {custom_id!r} is there twice"
            fault = LineFault("duplicate_custom_id", message, number, "custom_id")
        if fault is not None:
            faults.append(fault)
            continue
        known.add(custom_id)
        places.append(LinePlace(custom_id, offset, len(line)))
    if not places and not faults:
        faults.append(LineFault("empty_file", "the file holds no request"))
    return places, faults


def body_of(line: bytes) -> bytes:
    """Return the body of a request as it would come over HTTP."""
    return orjson.dumps(orjson.loads(line)["body"])


def _lines(content: Iterable[bytes], max_line: int) -> Iterator[tuple[int, bytes]]:
    """Cut `content` into lines, each with its offset; a longer one is cut off."""
    offset, rest = 0, b""
    for piece in content:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield offset, line
            offset += len(line) + 1
        if len(rest) > max_line:
            yield offset, rest
            return
    if rest:
        yield offset, rest


def _check(
    line: bytes, number: int, endpoint: str, max_line: int
) -> tuple[str, LineFault | None]:
    """Return a request's `custom_id`, and what is wrong with the request."""

    def fault(message: str, param: str | None = None) -> tuple[str, LineFault]:
        return "", LineFault("invalid_request", message, number, param)

    if len(line) > max_line:
        return fault(f"the line is longer than {max_line} bytes")
    try:
        request: Any = orjson.loads(line)
    except orjson.JSONDecodeError as exc:
        return "", LineFault("invalid_json_line", f"not JSON: {exc}", number)
    if not isinstance(request, dict):
        return fault("expected a JSON object")
    custom_id = request.get("custom_id")
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= MAX_NAME:
        return fault(f"expected a text of 1 to {MAX_NAME} characters", "custom_id")
    if request.get("method") != "POST":
        return fault("expected 'POST'", "method")
    if request.get("url") != endpoint:
        return fault(f"expected {endpoint!r}, the endpoint of the batch", "url")
    if not isinstance(request.get("body"), dict):
        return fault("expected an object", "body")
    return custom_id, None
