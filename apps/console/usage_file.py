"""Usage as a file: CSV or JSON Lines, with the fields that REST has. Pure.

No cell is taken for a formula by a spreadsheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from apps.core.money import usd_text
from apps.core.plain_text import csv_row
from apps.runs.types import UsageGroup, UsageRow

COLUMNS = (
    "group",
    "label",
    "id",
    "runs",
    "failed",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "has_unknown_cost",
)
Value = str | int | bool | None
Usage = Mapping[UsageGroup, Sequence[UsageRow]]


def usage_csv(usage: Usage) -> str:
    """Return every row of each grouping; what is not known is empty."""
    return "".join(map(csv_row, (COLUMNS, *_rows(usage))))


def usage_jsonl(usage: Usage) -> bytes:
    """Return every row of each grouping as an object on a line of its own."""
    return b"".join(_line(row) for row in _rows(usage))


def _rows(usage: Usage) -> Iterator[tuple[Value, ...]]:
    for group, rows in usage.items():
        for row in rows:
            yield (
                group,
                row.label,
                None if row.id is None else str(row.id),
                row.runs,
                row.failed,
                row.prompt_tokens,
                row.completion_tokens,
                usd_text(row.cost_micros),
                row.has_unknown_cost,
            )


def _line(row: Iterable[Value]) -> bytes:
    values = dict(zip(COLUMNS, row, strict=True))
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)
