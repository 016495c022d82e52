"""Changes the state of batches and their requests.

Each change of a batch is recorded in the ledger; each request is a run, which records
itself. A batch is driven by one process at a time, which renews its claim; when it
dies, another one takes over after `CLAIM`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.batches.models import (
    ENDED,
    BatchLine,
    BatchState,
    LineState,
    RequestBatch,
    StoredFile,
)
from apps.batches.selectors import line_counts
from apps.batches.services.files import BATCHES_SERVICE
from apps.batches.types import LineFault, LinePlace

WINDOW = timedelta(hours=24)
"""The only completion window."""
CLAIM_S = 15
MAX_FAULTS = 100
"""Of a file that cannot be used; a longer list would be no help."""
LINES_AT_ONCE = 500


def batch_create(
    *,
    team_id: uuid.UUID,
    api_key_id: uuid.UUID,
    endpoint: str,
    input_file: StoredFile,
    metadata: Mapping[str, str],
    actor: Actor,
) -> RequestBatch:
    """Accept a batch; a driver reads its file next."""
    now = timezone.now()
    with transaction.atomic():
        batch = RequestBatch.objects.create(
            team_id=team_id,
            api_key_id=api_key_id,
            endpoint=endpoint,
            input_file=input_file,
            metadata=dict(metadata),
            created_at=now,
            expires_at=now + WINDOW,
        )
        data = {"endpoint": endpoint, "input_file": str(input_file.id)}
        _record(batch, "batch.created", actor, data)
    return batch


def batch_cancel(*, batch: RequestBatch, actor: Actor) -> RequestBatch:
    """Begin no further request, and stop those in progress.

    A batch that has ended, or is being cancelled, stays as it is.
    """
    with transaction.atomic():
        row = _locked(batch)
        if row.state in (*ENDED, BatchState.CANCELLING, BatchState.FINALIZING):
            return row
        row.state, row.cancelling_at = BatchState.CANCELLING, timezone.now()
        row.save(update_fields=["state", "cancelling_at"])
        _record(row, "batch.cancelled", actor, {})
    return row


def batches_claim(driver_id: uuid.UUID, limit: int) -> list[RequestBatch]:
    """Claim unfinished batches that no other process drives; return all of ours."""
    unfinished = RequestBatch.objects.across_teams().filter(ended_at=None)
    is_free = Q(driver_id=driver_id) | Q(driven_until=None) | Q(driven_until__lt=Now())
    ids = list(unfinished.filter(is_free).order_by("id").values_list("id", flat=True))
    ours = unfinished.filter(is_free, id__in=ids[:limit])
    until = Now() + timedelta(seconds=CLAIM_S)
    ours.update(driver_id=driver_id, driven_until=until)
    mine = unfinished.filter(driver_id=driver_id).select_related("input_file")
    return list(mine.order_by("id"))


def batches_release(driver_id: uuid.UUID) -> None:
    """Give up every claim, so that another process need not wait for its end."""
    ours = RequestBatch.objects.across_teams().filter(driver_id=driver_id)
    ours.update(driver_id=None, driven_until=None)


def batch_begin(batch: RequestBatch, places: Sequence[LinePlace]) -> None:
    """Take the requests that its file holds."""
    with transaction.atomic():
        row = _locked(batch)
        if row.state != BatchState.VALIDATING:
            return  # cancelled meanwhile, or another process was quicker
        lines = [
            BatchLine(
                batch=row,
                index=index,
                custom_id=place.custom_id,
                offset=place.offset,
                length=place.length,
            )
            for index, place in enumerate(places)
        ]
        BatchLine.objects.bulk_create(lines, batch_size=LINES_AT_ONCE)
        row.state, row.in_progress_at = BatchState.IN_PROGRESS, timezone.now()
        row.save(update_fields=["state", "in_progress_at"])


def batch_refuse(batch: RequestBatch, faults: Iterable[LineFault]) -> None:
    """End a batch whose file cannot be used."""
    errors = [fault.document() for fault in faults][:MAX_FAULTS]
    with transaction.atomic():
        row = _locked(batch)
        if row.state != BatchState.VALIDATING:
            return
        row.errors = errors
        _end(row, BatchState.FAILED)


def line_start(line: BatchLine) -> bool:
    """Note that a request is about to be made; False if another process makes it."""
    waiting = BatchLine.objects.filter(id=line.id, state=LineState.WAITING)
    return waiting.update(state=LineState.STARTED) == 1


def line_wait(line: BatchLine) -> None:
    """Put a request back that could not be made yet."""
    started = BatchLine.objects.filter(id=line.id, state=LineState.STARTED)
    started.update(state=LineState.WAITING)


def line_refuse(line: BatchLine, status: int, error: Mapping[str, Any]) -> None:
    """End a request that was refused before its run began."""
    lines = BatchLine.objects.filter(id=line.id)
    lines.update(state=LineState.FAILED, status=status, error=dict(error))


def lines_end(ended: Mapping[int, LineState]) -> None:
    """Note how requests have ended, by the ids of their rows."""
    for state in (LineState.COMPLETED, LineState.FAILED):
        ids = [line_id for line_id, how in ended.items() if how == state]
        if ids:
            lines = BatchLine.objects.filter(id__in=ids, state=LineState.STARTED)
            lines.update(state=state)


def lines_drop(batch: RequestBatch, code: str, message: str) -> None:
    """End the requests of a batch that have not begun, all for one reason."""
    error = {"code": code, "message": message}
    waiting = batch.lines.filter(state=LineState.WAITING)
    waiting.update(state=LineState.FAILED, error=error)


def batch_finalize(batch: RequestBatch) -> None:
    """Note that all requests have ended and the results are being written."""
    rows = RequestBatch.objects.for_team(batch.team_id).filter(
        id=batch.id, state=BatchState.IN_PROGRESS
    )
    rows.update(state=BatchState.FINALIZING, finalizing_at=timezone.now())


def batch_finish(
    batch: RequestBatch,
    state: BatchState,
    *,
    output_file: StoredFile | None,
    error_file: StoredFile | None,
) -> None:
    """End a batch with its results."""
    with transaction.atomic():
        row = _locked(batch)
        if row.ended_at is not None:
            return
        row.output_file, row.error_file = output_file, error_file
        _end(row, state)


def _locked(batch: RequestBatch) -> RequestBatch:
    rows = RequestBatch.objects.for_team(batch.team_id).select_for_update()
    return rows.get(id=batch.id)


def _end(row: RequestBatch, state: BatchState) -> None:
    row.state, row.ended_at = state, timezone.now()
    row.driver_id = row.driven_until = None
    row.save()
    counts = line_counts(row)
    data = {
        "state": str(state),
        "requests": counts.total,
        "completed": counts.completed,
        "failed": counts.failed,
    }
    _record(row, "batch.ended", BATCHES_SERVICE, data)


def _record(
    batch: RequestBatch, action: str, actor: Actor, data: Mapping[str, Any]
) -> None:
    draft = EntryDraft(
        action=action, subject_type="batch", subject_id=batch.id, actor=actor, data=data
    )
    entries_append(batch=Batch(batch.team_id, (draft,)))
