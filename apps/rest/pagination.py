"""Lists come in pages: `{"data": [...], "next_cursor": text or null}`.

A cursor is opaque to callers. Long lists go on behind the last row seen, so nothing is
skipped or repeated while others are added; short ones go on at a place.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet
from rest_framework import serializers

from apps.core.errors import InvalidInput
from apps.rest.fields import Output, Query

RowT = TypeVar("RowT")
DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_CURSOR = 100
MAX_PLACE = 10**9
"""Far beyond the end of any list that goes by place."""


class PageQuery(Query):
    """Which page of a list."""

    cursor = serializers.CharField(
        required=False,
        max_length=MAX_CURSOR,
        help_text="`next_cursor` of the page before. Without it: the first page.",
    )
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        default=DEFAULT_LIMIT,
        help_text="How many at most.",
    )


@dataclass(frozen=True, slots=True)
class Page(Generic[RowT]):
    """Some rows of a list, and where it goes on."""

    data: Sequence[RowT]
    next_cursor: str | None


@cache
def page_output(output: type[Output]) -> type[Output]:
    """Return the output of a page of `output`."""
    name = f"{output.__name__.removesuffix('Output')}PageOutput"
    fields = {
        "__doc__": "Some of them, and where the list goes on.",
        "__module__": output.__module__,
        "data": output(many=True),
        "next_cursor": serializers.CharField(
            allow_null=True, help_text="Null: this was the last page."
        ),
    }
    return type(name, (Output,), fields)


def page_by_place(
    rows: QuerySet[Any] | Sequence[Any], *, cursor: str | None, limit: int
) -> Page[Any]:
    """Return the rows from a place on."""
    place = _number_of(cursor, "p")
    found = list(rows[place : place + limit + 1])
    return _page(found, limit, lambda row: f"p{place + limit}")


def page_by_id(rows: QuerySet[Any], *, cursor: str | None, limit: int) -> Page[Any]:
    """Return the rows behind a row, of a list that runs by descending ids."""
    if cursor is not None:
        rows = rows.filter(id__lt=_id_of(cursor))
    return _page(list(rows[: limit + 1]), limit, lambda row: f"i{row.id.hex}")


def page_by_seq(
    read: Callable[[int, int], Sequence[RowT]], *, cursor: str | None, limit: int
) -> Page[RowT]:
    """Return the entries behind one; `read` takes its seq and how many are wanted."""
    found = read(_number_of(cursor, "s"), limit + 1)
    return _page(found, limit, lambda row: f"s{row.seq}")  # type: ignore[attr-defined]


def seq_before(cursor: str | None) -> int | None:
    """Return the seq before which a list that runs backwards goes on; None: its end."""
    return None if cursor is None else _number_of(cursor, "b")


def page_before(rows: Sequence[RowT], seq: int | None) -> Page[RowT]:
    """Return a page of such a list, that goes on before `seq`; None: it was the last.

    It may go on though the page is not full, or is empty.
    """
    return Page(rows, None if seq is None else _encode(f"b{seq}"))


def _page(found: Sequence[RowT], limit: int, mark: Callable[[RowT], str]) -> Page[RowT]:
    shown = found[:limit]
    has_more = len(found) > limit
    return Page(shown, _encode(mark(shown[-1])) if has_more else None)


def _encode(mark: str) -> str:
    return base64.urlsafe_b64encode(mark.encode()).decode().rstrip("=")


def _decode(cursor: str, kind: str) -> str:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        mark = base64.urlsafe_b64decode(padded.encode("ascii")).decode("ascii")
    except (binascii.Error, ValueError) as exc:
        raise _bad_cursor() from exc
    if not mark.startswith(kind):
        raise _bad_cursor()
    return mark[1:]


def _number_of(cursor: str | None, kind: str) -> int:
    if cursor is None:
        return 0
    digits = _decode(cursor, kind)
    if not digits.isdecimal() or len(digits) > 18:
        raise _bad_cursor()
    return min(int(digits), MAX_PLACE) if kind == "p" else int(digits)


def _id_of(cursor: str) -> uuid.UUID:
    try:
        return uuid.UUID(hex=_decode(cursor, "i"))
    except ValueError as exc:
        raise _bad_cursor() from exc


def _bad_cursor() -> InvalidInput:
    return InvalidInput("this is no cursor of this list", param="cursor")
