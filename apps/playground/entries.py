"""Ledger entries of a run, for the page and as lines of JSON."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.utils.translation import gettext

from apps.audit.selectors import PAGE, entry_list, with_previous_hashes
from apps.audit.types import EntryView


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One line of the ledger pane."""

    seq: int
    action: str
    recorded_at: datetime
    actor: str
    outcome: str
    fields: tuple[tuple[str, str], ...]
    """What it says, by name; values that are no text as JSON."""
    texts: tuple[tuple[str, int | None], ...]
    """Texts that belong to it, with their characters; None: erased."""
    hash: str
    previous_hash: str
    anchor: str
    """Id of the card the entry belongs to."""
    way: str
    """The words of the link to that card."""


def entry_rows(team_id: uuid.UUID, entries: list[EntryView]) -> list[EntryRow]:
    """Return entries of a run as the ledger pane shows them."""
    return [
        EntryRow(
            seq=entry.seq,
            action=entry.action,
            recorded_at=entry.recorded_at,
            actor=entry.actor.display,
            outcome=entry.outcome,
            fields=tuple((name, _words(value)) for name, value in entry.data.items()),
            texts=tuple(
                (name, None if text is None else len(text))
                for name, text in entry.bodies.items()
            ),
            hash=entry.hash,
            previous_hash=entry.previous_hash or "",
            anchor=_anchor(entry),
            way=_way(entry),
        )
        for entry in with_previous_hashes(team_id, entries)
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


def _words(value: Any) -> str:
    return (
        value if isinstance(value, str) else orjson.dumps(value, default=dict).decode()
    )


def _way(entry: EntryView) -> str:
    kind = entry.action.partition(".")[0]
    if kind == "step":
        return gettext("Go to step {number}").format(number=entry.data["step"] + 1)
    if kind == "plan":
        number = entry.data["round"] + 1
        return gettext("Go to the plan of round {number}").format(number=number)
    return gettext("Go to the summary")


def _anchor(entry: EntryView) -> str:
    kind = entry.action.partition(".")[0]
    if kind == "step":
        return f"step-{entry.data['round']}-{entry.data['step']}"
    if kind == "plan":
        return f"plan-{entry.data['round']}"
    return "run-summary"
