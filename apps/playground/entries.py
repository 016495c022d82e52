"""Ledger entries of a run, for the page and as lines of JSON."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson

from apps.audit.selectors import PAGE, entry_list
from apps.audit.types import EntryView


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One line of the ledger pane."""

    seq: int
    action: str
    recorded_at: datetime
    actor: str
    hash: str
    anchor: str
    """Id of the card the entry belongs to."""


def entry_rows(entries: Iterable[EntryView]) -> list[EntryRow]:
    """Return entries of a run as the ledger pane shows them."""
    return [
        EntryRow(
            seq=entry.seq,
            action=entry.action,
            recorded_at=entry.recorded_at,
            actor=entry.actor.display,
            hash=entry.hash,
            anchor=_anchor(entry),
        )
        for entry in entries
    ]


def entry_lines(team_id: uuid.UUID, run_id: uuid.UUID) -> Iterator[bytes]:
    """Yield every entry of a run as one line of JSON, texts included."""
    for entry in _all_entries(team_id, run_id):
        yield orjson.dumps(entry, default=dict, option=orjson.OPT_APPEND_NEWLINE)


def _all_entries(team_id: uuid.UUID, run_id: uuid.UUID) -> Iterator[EntryView]:
    after_seq = 0
    while True:
        entries = entry_list(team_id, subject_id=run_id, after_seq=after_seq)
        yield from entries
        if len(entries) < PAGE:
            return
        after_seq = entries[-1].seq


def _anchor(entry: EntryView) -> str:
    kind = entry.action.partition(".")[0]
    if kind == "step":
        return f"step-{entry.data['round']}-{entry.data['step']}"
    if kind == "plan":
        return f"plan-{entry.data['round']}"
    return "run-summary"
