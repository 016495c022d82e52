"""Takes up runs that another process left unfinished, from their entries."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence

from apps.audit.types import EntryView
from apps.core.database_outage import is_outage
from apps.engine import events as ev
from apps.runs.coordination.fail_run import OWNER_LOST, fault_at_resume, run_give_up
from apps.runs.coordination.leases import MAX_DEATHS
from apps.runs.models import Run
from apps.runs.records.history import entries_of, interrupted_run
from apps.runs.types import RunOrder

logger = logging.getLogger(__name__)
READ_AT_ONCE = 16
"""Runs whose histories are read together, and so are in memory at the same time."""
Resume = Callable[[Run, RunOrder, Sequence[ev.Event]], Awaitable[None]]
"""Goes on with a run after the events that are on record."""


class Resumer:
    """Reads the histories of runs, and ends the runs that cannot go on."""

    def __init__(self, is_live: Callable[[uuid.UUID], bool], resume: Resume) -> None:
        """`is_live` says whether a run executes in this process already."""
        self._is_live = is_live
        self._resume = resume

    async def take_up(self, runs: Sequence[Run]) -> None:
        """Go on with runs that are this process's now; end those that can't go on."""
        waiting = []
        for run in runs:
            if run.deaths >= MAX_DEATHS:  # perhaps of reading its history: not again
                await run_give_up(run, OWNER_LOST)
            elif not self._is_live(run.id):  # else not yet dropped; a later sweep's
                waiting.append(run)
        while waiting:
            some, waiting = waiting[:READ_AT_ONCE], waiting[READ_AT_ONCE:]
            entries = await self._read(some)
            for run in some:
                await self._take_up(run, entries.get(run.id))

    async def _read(self, runs: Sequence[Run]) -> dict[uuid.UUID, list[EntryView]]:
        """Return the entries of runs; nothing if that fails for one of them."""
        try:
            entries: dict[uuid.UUID, list[EntryView]] = await entries_of(runs)
        except Exception as exc:  # the boundary: entries may have been changed
            if is_outage(exc):
                raise
            logger.warning("histories are read one by one", exc_info=exc)
            return {}
        return entries

    async def _take_up(self, run: Run, entries: list[EntryView] | None) -> None:
        try:
            if entries is None:
                entries = (await entries_of([run]))[run.id]
            order, history = interrupted_run(run, entries)
            await self._resume(run, order, history)
        except Exception as exc:  # the boundary, as above
            if is_outage(exc):
                raise  # no fault of this run: nothing works without the database
            logger.exception("run %s cannot be resumed", run.id)
            await run_give_up(run, fault_at_resume(exc))
        else:
            logger.info("run %s taken up after %d events", run.id, len(history))
