"""Reads of files and batches, and of a file's content."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator

from django.db.models import Count, Q

from apps.batches.models import BatchLine, LineState, RequestBatch, StoredFile
from apps.batches.types import LineCounts
from apps.core.errors import NotFound
from apps.core.keyring import unseal
from apps.core.scoping import TeamQuerySet

PART_BYTES = 1 << 20


def part_context(file: StoredFile, index: int) -> bytes:
    """Return what the encryption of a part is bound to."""
    return b"batches.part" + file.team_id.bytes + file.id.bytes + index.to_bytes(4)


def access_file(
    *, team_id: uuid.UUID, api_key_id: uuid.UUID | None, file_id: uuid.UUID
) -> StoredFile:
    """Return a complete file; with `api_key_id` only one of that key.

    Raises: NotFound.
    """
    files = file_list(team_id=team_id, api_key_id=api_key_id).filter(id=file_id)
    if (file := files.first()) is None:
        raise NotFound(f"there is no file 'file-{file_id.hex}'", param="file_id")
    return file


def file_list(
    *, team_id: uuid.UUID, api_key_id: uuid.UUID | None
) -> TeamQuerySet[StoredFile]:
    """Return the complete files of a team, the newest first; None: of all its keys."""
    files = StoredFile.objects.for_team(team_id).filter(is_complete=True)
    return files if api_key_id is None else files.filter(api_key_id=api_key_id)


def files_of_runs(team_id: uuid.UUID, run_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return the files that hold requests or results of batches with these runs."""
    if not run_ids:
        return set()
    batches = RequestBatch.objects.for_team(team_id).filter(lines__run_id__in=run_ids)
    columns = ("input_file_id", "output_file_id", "error_file_id")
    found = batches.values_list(*columns).order_by().distinct()
    return {file_id for row in found for file_id in row if file_id is not None}


def file_content(file: StoredFile) -> Iterator[bytes]:
    """Return the content of a file, part by part."""
    for index, sealed in file.parts.order_by("index").values_list("index", "sealed"):
        yield unseal(bytes(sealed), context=part_context(file, index))


def file_slice(file: StoredFile, offset: int, length: int) -> bytes:
    """Return `length` bytes of a file from `offset` on."""
    first, last = offset // PART_BYTES, (offset + length - 1) // PART_BYTES
    parts = file.parts.filter(index__gte=first, index__lte=last).order_by("index")
    content = b"".join(
        unseal(bytes(sealed), context=part_context(file, index))
        for index, sealed in parts.values_list("index", "sealed")
    )
    start = offset - first * PART_BYTES
    return content[start : start + length]


def access_batch(
    *, team_id: uuid.UUID, api_key_id: uuid.UUID | None, batch_id: uuid.UUID
) -> RequestBatch:
    """Return a batch; with `api_key_id` only one of that key. Raises: NotFound."""
    batches = batch_list(team_id=team_id, api_key_id=api_key_id).filter(id=batch_id)
    if (batch := batches.first()) is None:
        raise NotFound(f"there is no batch 'batch_{batch_id.hex}'", param="batch_id")
    return batch


def batch_list(
    *, team_id: uuid.UUID, api_key_id: uuid.UUID | None
) -> TeamQuerySet[RequestBatch]:
    """Return the batches of a team, the newest first; None: of all its keys."""
    batches = RequestBatch.objects.for_team(team_id)
    return batches if api_key_id is None else batches.filter(api_key_id=api_key_id)


def line_counts(batch: RequestBatch) -> LineCounts:
    """Count the requests of a batch."""
    counts = BatchLine.objects.filter(batch=batch).aggregate(
        total=Count("id"),
        completed=Count("id", filter=Q(state=LineState.COMPLETED)),
        failed=Count("id", filter=Q(state=LineState.FAILED)),
    )
    return LineCounts(**counts)


def lines_in(batch: RequestBatch, state: LineState, limit: int) -> list[BatchLine]:
    """Return the first requests of a batch that are in a state."""
    return list(batch.lines.filter(state=state).order_by("index")[:limit])
