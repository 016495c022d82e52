"""Entries as lines of a file: JSON Lines, and CSV that is safe to open as a sheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from apps.audit.browsing.search import FoundEntry
from apps.audit.models import ExportFormat
from apps.audit.opened_texts import OpenedText
from apps.core.plain_text import safe_cell

Texts = Mapping[int, Sequence[OpenedText]]
"""Texts of entries that are kept apart, by the seq of their entry."""
COLUMNS = (
    "seq",
    "recorded",
    "action",
    "outcome",
    "actor_type",
    "actor_id",
    "actor",
    "on_behalf_of",
    "subject_type",
    "subject_id",
    "address",
    "user_agent",
    "request_id",
    "facts",
    "texts",
    "hash",
)


def header_of(form: str) -> bytes:
    """Return what comes before the first entry."""
    return _row(COLUMNS) if form == ExportFormat.CSV else b""


def entry_line(form: str, entry: FoundEntry, texts: Texts | None) -> bytes:
    """Return an entry as a line; `texts` None: without those that are kept apart."""
    own = None if texts is None else texts.get(entry.seq, ())
    return _WRITERS[form](entry, own)


def _json_line(entry: FoundEntry, texts: Sequence[OpenedText] | None) -> bytes:
    """Return the entry byte for byte as it was hashed, and what belongs to it."""
    line: dict[str, Any] = {
        "seq": entry.seq,
        "hash": entry.hash,
        "entry": orjson.Fragment(entry.canonical) if entry.is_readable else None,
    }
    if not entry.is_readable:
        line["action"] = entry.action
    if texts is not None:
        line["texts"] = {
            each.name: {"salt": each.salt, "text": each.text} for each in texts
        }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _csv_line(entry: FoundEntry, texts: Sequence[OpenedText] | None) -> bytes:
    subject = "" if entry.subject_id is None else str(entry.subject_id)
    opened = None if texts is None else {each.name: each.text for each in texts}
    return _row(
        (
            str(entry.seq),
            entry.recorded_at.isoformat() if entry.recorded_at else "",
            entry.action,
            entry.outcome,
            entry.actor.type,
            entry.actor.id,
            entry.actor.display,
            entry.actor.on_behalf_of,
            entry.subject_type,
            subject,
            entry.context.get("address", ""),
            entry.context.get("user_agent", ""),
            entry.context.get("request_id", ""),
            _json(entry.data),
            _json(opened) if opened else "",
            entry.hash,
        )
    )


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _row(cells: Iterable[str]) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow([safe_cell(cell) for cell in cells])
    return buffer.getvalue().encode()


_WRITERS: Mapping[str, Callable[[FoundEntry, Sequence[OpenedText] | None], bytes]] = {
    ExportFormat.JSONL: _json_line,
    ExportFormat.CSV: _csv_line,
}
