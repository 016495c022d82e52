"""The texts of a run that a search looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from apps.audit.types import EntryView
from apps.core.errors import ConductorError
from apps.runs.models import Run
from apps.runs.records.history import events_in, read_entries
from apps.runs.records.run_view import fold

RUNS_AT_ONCE = 20
"""Runs whose entries are read together."""


def run_texts(entries: Sequence[EntryView]) -> list[str]:
    """Return a run's prompt, answer and answers of steps; erased ones are left out.

    Raises: HistoryUnreadable, and what reading changed entries may raise.
    """
    view = fold(events_in(entries))
    texts = [view.prompt, view.answer or "", *(step.text for step in view.steps)]
    return [text for text in dict.fromkeys(texts) if text]


def texts_of_runs(runs: Sequence[Run]) -> Iterator[tuple[UUID, list[str] | None]]:
    """Yield the id and the texts of each run; None: its entries cannot be read."""
    for start in range(0, len(runs), RUNS_AT_ONCE):
        some = runs[start : start + RUNS_AT_ONCE]
        try:
            found = read_entries(some)
        except ConductorError:
            # One of them is unreadable: find out which.
            yield from (pair for run in some for pair in _one(run))
            continue
        for run in some:
            yield run.id, _texts(found[run.id])


def _one(run: Run) -> Iterator[tuple[UUID, list[str] | None]]:
    try:
        entries = read_entries([run])[run.id]
    except ConductorError:
        yield run.id, None
    else:
        yield run.id, _texts(entries)


def _texts(entries: Sequence[EntryView]) -> list[str] | None:
    try:
        return run_texts(entries)
    except (ConductorError, ValueError, KeyError, TypeError):
        # Entries that were changed behind the product's back decode to anything.
        return None
