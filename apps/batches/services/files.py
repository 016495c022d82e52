"""Storing and deleting files.

Content is encrypted in parts, each in a transaction of its own: a long file must not
keep others from writing. A file is there for others once it is complete. What is on
legal hold is neither deleted nor does it expire: a hold on the team keeps all its
files, one on a run keeps those of its batch.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.batches.errors import FileInUse, FileOnHold
from apps.batches.models import (
    MAX_NAME,
    FilePart,
    FilePurpose,
    RequestBatch,
    StoredFile,
)
from apps.batches.selectors import PART_BYTES, files_of_runs, part_context
from apps.core.keyring import seal
from apps.core.scoping import TeamQuerySet
from apps.governance.services import holds_lock
from apps.governance.types import Held

BATCHES_SERVICE = Actor("service", "batches", "Batches")
UNFINISHED_FOR = timedelta(hours=1)
"""A file that is not complete after so long never will be: its process has died."""
DELETED_AT_ONCE = 20
"""Files. Each has up to some dozens of parts of 1 MiB."""


def file_store(
    *,
    team_id: uuid.UUID,
    api_key_id: uuid.UUID | None,
    purpose: FilePurpose,
    filename: str,
    content: Iterable[bytes],
    actor: Actor,
) -> StoredFile:
    """Store a file and record it; return it, complete."""
    now = timezone.now()
    file = StoredFile.objects.create(
        team_id=team_id,
        api_key_id=api_key_id,
        purpose=purpose,
        filename=filename[:MAX_NAME],
        created_at=now,
        expires_at=now + timedelta(days=settings.FILE_DAYS),
    )
    digest = hashlib.sha256()
    for index, part in enumerate(_parts(content)):
        digest.update(part)
        file.size += len(part)
        sealed = seal(part, context=part_context(file, index))
        FilePart.objects.create(file=file, index=index, sealed=sealed)
    file.is_complete = True
    with transaction.atomic():
        file.save(update_fields=["size", "is_complete"])
        data = {
            "purpose": str(purpose),
            "bytes": file.size,
            "digest": f"sha256:{digest.hexdigest()}",
        }
        _record(file, "file.created", actor, data)
    return file


def file_delete(*, file: StoredFile, actor: Actor) -> None:
    """Delete a file and its content, and record it.

    Raises: FileInUse if a batch that has not ended reads it; FileOnHold.
    """
    with transaction.atomic():
        if _kept(file.team_id, holds_lock(file.team_id)).filter(id=file.id).exists():
            raise FileOnHold(
                "a legal hold keeps this file; it can be deleted once the hold has "
                "been released"
            )
        _delete(file, actor)


def results_discard(batch: RequestBatch) -> None:
    """Delete results that a process wrote and did not live to hand over."""
    written = StoredFile.objects.for_team(batch.team_id).filter(
        purpose=FilePurpose.OUTPUT, filename__startswith=f"batch_{batch.id.hex}_"
    )
    for file in written:
        with transaction.atomic():
            _delete(file, BATCHES_SERVICE)


def files_expire(now: datetime | None = None) -> Iterator[int]:
    """Delete what has expired and what was never completed, some at a time.

    A batch goes with its file of requests. Yields how many files each step deleted.
    """
    moment = now or timezone.now()
    over = Q(expires_at__lte=moment)
    torn = Q(is_complete=False, created_at__lte=moment - UNFINISHED_FOR)
    for due in (over, torn):
        files = StoredFile.objects.across_teams().filter(due).order_by("team_id")
        for team_id in list(files.values_list("team_id", flat=True).distinct()):
            while count := _expire(team_id, due):
                yield count


@transaction.atomic
def _expire(team_id: uuid.UUID, due: Q) -> int:
    """Delete some files of a team that are due and not on hold; return how many."""
    kept = _kept(team_id, holds_lock(team_id))
    files = StoredFile.objects.for_team(team_id).filter(due).exclude(id__in=kept)
    ids = list(files.values_list("id", flat=True)[:DELETED_AT_ONCE])
    RequestBatch.objects.for_team(team_id).filter(input_file__in=ids).delete()
    StoredFile.objects.for_team(team_id).filter(id__in=ids).delete()
    return len(ids)


def _kept(team_id: uuid.UUID, on_hold: Held) -> TeamQuerySet[StoredFile]:
    """Return the files of a team that are on hold."""
    files = StoredFile.objects.for_team(team_id)
    if on_hold.is_all:
        return files
    return files.filter(id__in=files_of_runs(team_id, on_hold.run_ids))


def _delete(file: StoredFile, actor: Actor) -> None:
    readers = RequestBatch.objects.for_team(file.team_id).filter(input_file=file)
    if readers.filter(ended_at=None).exists():
        raise FileInUse("a batch that has not ended reads this file; cancel it")
    _record(file, "file.deleted", actor, {"bytes": file.size})
    readers.delete()
    file.delete()


def _parts(content: Iterable[bytes]) -> Iterator[bytes]:
    """Cut `content` into parts of one size; the last may be shorter."""
    rest = bytearray()
    for piece in content:
        rest += piece
        while len(rest) >= PART_BYTES:
            yield bytes(rest[:PART_BYTES])
            del rest[:PART_BYTES]
    if rest:
        yield bytes(rest)


def _record(
    file: StoredFile, action: str, actor: Actor, data: Mapping[str, Any]
) -> None:
    draft = EntryDraft(
        action=action, subject_type="file", subject_id=file.id, actor=actor, data=data
    )
    entries_append(batch=Batch(file.team_id, (draft,)))
