"""Makes the requests of batches: one task in each serving process.

What a batch has done is in the database alone, so any process can go on with it. Each
request's run has its id before it begins: a driver that takes over finds the runs of
the one before it, and begins only those that are not on record.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from itertools import chain

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.utils import timezone

from apps.accounts.principal import key_principal
from apps.accounts.services import api_key_holder
from apps.accounts.types import KeyHolder
from apps.batches import services
from apps.batches.models import (
    BatchLine,
    BatchState,
    FilePurpose,
    LineState,
    RequestBatch,
    StoredFile,
)
from apps.batches.selectors import file_content, file_slice, lines_in
from apps.budgets.errors import RateLimited
from apps.core.errors import (
    ConductorError,
    InvalidInput,
    NotAuthenticated,
    Overloaded,
)
from apps.core.ids import new_id
from apps.gateway.backend import Backend
from apps.gateway.batches.kinds import KINDS
from apps.gateway.batches.requests import body_of, read_places
from apps.gateway.batches.results import WriteLines, answer_lines, error_lines
from apps.gateway.django_backend import DjangoBackend
from apps.gateway.errors import failure_of_error
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.run_starter import ChatTask, order_alone
from apps.runs.selectors import run_record, run_states

logger = logging.getLogger(__name__)
LOOK_S = 2.0
"""How often a process looks for batches, and how far their runs are."""
BUSY_LOOK_S = 0.25
"""The same while it drives some."""
MAX_BATCHES = 20
"""Batches that one process drives at a time."""
COMPLETED = "completed"
"""State of a run that has an answer."""
RUNNING = "running"
EXPIRED = ("batch_expired", "the batch's time was over before this request began")
STOPPED = "its batch was cancelled"
CANCELLED = ("batch_cancelled", "the batch was cancelled before this request began")


class BatchDriver:
    """Drives the batches that this process has claimed."""

    def __init__(self, backend: Backend | None = None) -> None:
        self._backend = backend or DjangoBackend()
        self._id = new_id()
        self._woken = asyncio.Event()
        self._not_before = 0.0
        """Time of the monotonic clock before which no request is made: the site is
        full, or a rate is used up."""
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin, on the running event loop."""
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Look at once: there is a new batch."""
        self._woken.set()

    async def close(self) -> None:
        """Stop; another process, or the next start, goes on."""
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        with suppress(DatabaseError, InterfaceError):
            await database_sync_to_async(services.batches_release)(self._id)

    async def _run(self) -> None:
        wait_s = LOOK_S
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._woken.wait()
            self._woken.clear()
            try:
                count = await self.look()
                wait_s = BUSY_LOOK_S if count else LOOK_S
            except (DatabaseError, InterfaceError) as exc:
                logger.warning("batches: the database refused or is away: %s", exc)
            except Exception:  # the boundary of a task: the next look may do better
                logger.exception("batches could not be driven")

    async def look(self) -> int:
        """Go one step on with every batch; return how many there are."""
        claim = database_sync_to_async(services.batches_claim)
        batches = await claim(self._id, MAX_BATCHES)
        await asyncio.gather(*[self._drive(batch) for batch in batches])
        return len(batches)

    async def _drive(self, batch: RequestBatch) -> None:
        try:
            if batch.state == BatchState.VALIDATING:
                await database_sync_to_async(_read)(batch)
            elif batch.state in (BatchState.IN_PROGRESS, BatchState.CANCELLING):
                await self._advance(batch)
            elif batch.state == BatchState.FINALIZING:
                await database_sync_to_async(_finish)(batch)
        except (DatabaseError, InterfaceError):
            raise
        except Exception:  # one batch must not hold up the others
            logger.exception("batch %s could not go on", batch.id)

    async def _advance(self, batch: RequestBatch) -> None:
        limit = settings.BATCH_PARALLEL_RUNS
        started = await database_sync_to_async(lines_in)(
            batch, LineState.STARTED, limit
        )
        running, unknown = await database_sync_to_async(_settle)(batch, started)
        holder = await self._holder(batch)
        is_cancelled = batch.state == BatchState.CANCELLING
        if is_cancelled:
            await self._stop(batch, running)
        if holder is None:
            # A process died before their runs began, and now none may begin: they are
            # dropped at the next look, like others that wait.
            for line in unknown:
                await database_sync_to_async(services.line_wait)(line)
        waiting: list[BatchLine] = []
        if holder and not is_cancelled and time.monotonic() >= self._not_before:
            free = limit - len(running) - len(unknown)
            if free > 0:
                lines = database_sync_to_async(lines_in)
                waiting = await lines(batch, LineState.WAITING, free)
            await asyncio.gather(
                *[self._start(batch, holder, line) for line in unknown],
                *[self._start(batch, holder, line) for line in waiting],
            )
        if not running and not unknown and not waiting:
            await database_sync_to_async(_finalize_if_over)(batch)

    async def _holder(self, batch: RequestBatch) -> KeyHolder | None:
        """Return the key of a batch; None if no further request may be made."""
        if batch.state == BatchState.CANCELLING:
            await database_sync_to_async(services.lines_drop)(batch, *CANCELLED)
            return None
        if timezone.now() >= batch.expires_at:
            await database_sync_to_async(services.lines_drop)(batch, *EXPIRED)
            return None
        find = database_sync_to_async(api_key_holder)
        try:
            holder: KeyHolder = await find(
                batch.team_id, batch.api_key_id, now=timezone.now()
            )
        except NotAuthenticated as exc:
            drop = database_sync_to_async(services.lines_drop)
            await drop(batch, exc.code, exc.message)
            return None
        return holder

    async def _start(
        self, batch: RequestBatch, holder: KeyHolder, line: BatchLine
    ) -> None:
        is_new = line.state == LineState.WAITING
        if is_new and not await database_sync_to_async(services.line_start)(line):
            return
        kind = KINDS[batch.endpoint]
        try:
            raw = await database_sync_to_async(file_slice)(
                batch.input_file, line.offset, line.length
            )
            context = {"batch_id": batch.id.hex, "custom_id": line.custom_id}
            principal = key_principal(holder, context)
            asked = await kind.read(
                self._backend, principal, parse_object(body_of(raw))
            )
            _refuse_stream(asked)
            order = await order_alone(self._backend, principal, asked)
            await self._backend.start_detached(order, line.run_id)
        except (Overloaded, RateLimited) as exc:
            self._not_before = time.monotonic() + (exc.retry_after_s or LOOK_S)
            await database_sync_to_async(services.line_wait)(line)
        except ConductorError as exc:
            failure = failure_of_error(exc)
            refuse = database_sync_to_async(services.line_refuse)
            await refuse(line, failure.status, failure.body())

    async def _stop(self, batch: RequestBatch, running: list[BatchLine]) -> None:
        stop = self._backend.stop_run
        for line in running:
            await stop(batch.team_id, line.run_id, services.BATCHES_SERVICE, STOPPED)


def _refuse_stream(asked: ChatTask) -> None:
    if asked.is_streamed or asked.is_background:
        name = "stream" if asked.is_streamed else "background"
        raise InvalidInput(f"{name}: not possible in a batch", param=name)


# --- in a thread, for the database ---------------------------------------------------


def _read(batch: RequestBatch) -> None:
    """Read the file of a new batch: it begins, or is refused with every fault."""
    places, faults = read_places(
        file_content(batch.input_file),
        endpoint=batch.endpoint,
        max_requests=settings.MAX_BATCH_REQUESTS,
        max_line=settings.MAX_REQUEST_BYTES,
    )
    if faults:
        services.batch_refuse(batch, faults)
    else:
        services.batch_begin(batch, places)


def _settle(
    batch: RequestBatch, started: list[BatchLine]
) -> tuple[list[BatchLine], list[BatchLine]]:
    """Note which runs ended; return requests whose run goes on, or is not there."""
    states = run_states(batch.team_id, [line.run_id for line in started])
    running = [line for line in started if states.get(line.run_id) == RUNNING]
    unknown = [line for line in started if line.run_id not in states]
    services.lines_end(
        {
            line.id: (
                LineState.COMPLETED
                if states[line.run_id] == COMPLETED
                else LineState.FAILED
            )
            for line in started
            if states.get(line.run_id, RUNNING) != RUNNING
        }
    )
    return running, unknown


def _finalize_if_over(batch: RequestBatch) -> None:
    open_states = (LineState.WAITING, LineState.STARTED)
    if batch.lines.filter(state__in=open_states).exists():
        return
    if batch.state == BatchState.CANCELLING:
        _finish(batch)
    else:
        services.batch_finalize(batch)


def _finish(batch: RequestBatch) -> None:
    """Write the results of a batch, and end it."""
    services.results_discard(batch)
    services.batch_finish(
        batch,
        _end_state(batch),
        output_file=_write(batch, "output", answer_lines),
        error_file=_write(batch, "errors", error_lines),
    )


def _end_state(batch: RequestBatch) -> BatchState:
    if batch.state == BatchState.CANCELLING:
        return BatchState.CANCELLED
    if batch.lines.filter(error__code=EXPIRED[0]).exists():
        return BatchState.EXPIRED
    return BatchState.COMPLETED


def _write(batch: RequestBatch, what: str, write: WriteLines) -> StoredFile | None:
    """Write one of the two files of results; None if it would be empty."""
    lines = batch.lines.order_by("index").iterator()
    content = write(lines, KINDS[batch.endpoint], partial(run_record, batch.team_id))
    first = next(content, None)
    if first is None:
        return None
    return services.file_store(
        team_id=batch.team_id,
        api_key_id=batch.api_key_id,
        purpose=FilePurpose.OUTPUT,
        filename=f"batch_{batch.id.hex}_{what}.jsonl",
        content=chain([first], content),
        actor=services.BATCHES_SERVICE,
    )
