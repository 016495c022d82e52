"""Rows of files before they are tasks: each with its line, or with what is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

Row = tuple[int, Mapping[str, Any] | str]
"""The line, from 1, and the values; or why there are none."""


def benchmark_task(
    prompt: str, verifier: Mapping[str, Any], family: str
) -> dict[str, Any]:
    """Return a task whose id follows from its prompt, so that it stays the same."""
    digest = hashlib.sha256(prompt.encode()).hexdigest()[:12]
    return {
        "id": f"{family}-{digest}"[:100],
        "family": family[:60] or "all",
        "prompt": prompt,
        "verifier": dict(verifier),
    }


def json_rows(text: str) -> Iterator[Row]:
    """Yield the objects of JSON Lines."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as exc:
            yield number, f"it is not JSON: {exc.msg} at character {exc.pos + 1}"
            continue
        yield number, row if isinstance(row, dict) else "it is no JSON object"
