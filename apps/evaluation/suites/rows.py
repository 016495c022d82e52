"""Rows of files before they are tasks: each with its line, or with what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

Row = tuple[int, Mapping[str, Any] | str]
"""The line, from 1, and the values; or why there are none."""


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
