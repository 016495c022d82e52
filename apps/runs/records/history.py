"""Reads a run's entries from the ledger, and its events from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from channels.db import database_sync_to_async

from apps.audit.selectors import entries_by_subject, entry_list
from apps.audit.types import EntryView
from apps.engine import events as ev
from apps.engine.codec import Record, decode, is_run_event
from apps.engine.errors import HistoryMismatch
from apps.runs.models import Run
from apps.runs.records.run_params import order_of
from apps.runs.types import RecordedEvent, RunOrder

PAGE = 1_000
"""Entries read at once."""


def run_entries(run: Run, *, after_seq: int = 0) -> list[EntryView]:
    """Return a run's ledger entries after a place in the chain, bodies included."""
    found: list[EntryView] = []
    while page := entry_list(
        run.team_id, subject_id=run.id, after_seq=after_seq, limit=PAGE
    ):
        found += page
        after_seq = page[-1].seq
        if len(page) < PAGE:
            break
    return found


def run_events(run: Run) -> list[RecordedEvent]:
    """Return a run's events, decoded from the ledger."""
    return events_in(run_entries(run))


def events_in(entries: Iterable[EntryView]) -> list[RecordedEvent]:
    """Return the events of a run among its entries."""
    return [
        RecordedEvent(entry.seq, entry.recorded_at, event_of(entry))
        for entry in entries
        if is_run_event(entry.action)
    ]


def event_of(entry: EntryView) -> ev.Event:
    """Return the event an entry records; an erased body reads as empty."""
    bodies = {name: text or "" for name, text in entry.bodies.items()}
    return decode(Record(entry.action, dict(entry.data), bodies))


def read_entries(runs: Sequence[Run]) -> dict[UUID, list[EntryView]]:
    """Return the entries of each run, by its id, with few statements for each team."""
    by_team: dict[UUID, list[UUID]] = defaultdict(list)
    for run in runs:
        by_team[run.team_id].append(run.id)
    found: dict[UUID, list[EntryView]] = {run.id: [] for run in runs}
    for team_id, run_ids in by_team.items():
        found |= entries_by_subject(team_id, run_ids)
    return found


entries_of = database_sync_to_async(read_entries, thread_sensitive=False)
"""Never read in the thread that pages wait for."""


def interrupted_run(
    run: Run, entries: Sequence[EntryView]
) -> tuple[RunOrder, list[ev.Event]]:
    """Return an unfinished run's order and history.

    Raises: HistoryMismatch if its first entry is not there or its prompt has been
    erased, and whatever else reading changed entries may raise.
    """
    history = [recorded.event for recorded in events_in(entries)]
    if not history or not isinstance(history[0], ev.RunCreated):
        raise HistoryMismatch(
            f"run {run.id} does not begin with {ev.RunCreated.action}"
        )
    if not history[0].prompt:
        # With it went what the caller allowed. No run begins without a prompt.
        raise HistoryMismatch(f"the prompt of run {run.id} has been erased")
    return order_of(run, history[0]), history
