"""G13: files of a team on legal hold stay until it is released, then they expire."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.services import team_delete
from apps.audit.models import Entry
from apps.batches.errors import FileOnHold
from apps.batches.models import (
    BatchLine,
    BatchState,
    FilePart,
    FilePurpose,
    RequestBatch,
    StoredFile,
)
from apps.batches.selectors import file_content
from apps.batches.services import (
    batch_create,
    batch_finish,
    file_delete,
    file_store,
    files_expire,
    results_discard,
)
from apps.batches.services import files as files_service
from apps.core.errors import Conflict
from apps.governance.models import LegalHold
from apps.governance.services import hold_place, hold_release, holds_lock
from apps.governance.types import Held
from tests.conftest import Cast
from tests.factories import ACTOR, TeamFactory
from tests.patience import PATIENCE_S
from tests.rest.things import make_run

AWHILE_S = 0.5

pytestmark = pytest.mark.django_db


def store(cast: Cast, purpose: FilePurpose = FilePurpose.BATCH) -> StoredFile:
    return file_store(
        team_id=cast.team.id,
        api_key_id=cast.key.row.id,
        purpose=purpose,
        filename="x.jsonl",
        content=[b"canary\n"],
        actor=ACTOR,
    )


def ended_batch(cast: Cast, run_id: uuid.UUID | None = None) -> RequestBatch:
    """Make a batch of one request that has a file of results."""
    batch = batch_create(
        team_id=cast.team.id,
        api_key_id=cast.key.row.id,
        endpoint="/v1/chat/completions",
        input_file=store(cast),
        metadata={},
        actor=ACTOR,
    )
    line = BatchLine(batch=batch, index=0, custom_id="a", offset=0, length=7)
    line.run_id = run_id or line.run_id
    line.save()
    output = store(cast, FilePurpose.OUTPUT)
    batch_finish(batch, BatchState.COMPLETED, output_file=output, error_file=None)
    batch.refresh_from_db()
    return batch


def place(cast: Cast, run_id: uuid.UUID | None = None) -> LegalHold:
    return hold_place(team=cast.team, run_id=run_id, reason="Matter 7", actor=ACTOR)


def later(days: int = 31) -> datetime:
    return timezone.now() + timedelta(days=days)


def files_of(cast: Cast) -> set[uuid.UUID]:
    return set(StoredFile.objects.for_team(cast.team.id).values_list("id", flat=True))


def test_g13_files_of_a_held_team_do_not_expire(cast: Cast) -> None:
    batch, hold = ended_batch(cast), place(cast)
    other = TeamFactory.create()
    free = file_store(
        team_id=other.id,
        api_key_id=None,
        purpose=FilePurpose.BATCH,
        filename="y",
        content=[b"y"],
        actor=ACTOR,
    )
    assert sum(files_expire(later(4_000))) == 1
    assert not StoredFile.objects.for_team(other.id).filter(id=free.id).exists()
    assert len(files_of(cast)) == 2
    assert b"".join(file_content(batch.input_file)) == b"canary\n"
    hold_release(hold=hold, actor=ACTOR)
    assert sum(files_expire(later(29))) == 0
    assert sum(files_expire(later(31))) == 2
    assert not FilePart.objects.exists()
    assert not RequestBatch.objects.for_team(cast.team.id).exists()


def test_g13_file_of_a_held_team_cannot_be_deleted(cast: Cast) -> None:
    file, hold = store(cast), place(cast)
    with pytest.raises(FileOnHold, match="legal hold"):
        file_delete(file=file, actor=ACTOR)
    assert files_of(cast) == {file.id}
    last = Entry.objects.for_team(cast.team.id).latest("seq")
    assert last.action == "legal_hold.placed"
    hold_release(hold=hold, actor=ACTOR)
    file_delete(file=file, actor=ACTOR)
    assert files_of(cast) == set()


def test_g13_hold_on_a_run_keeps_the_files_of_its_batch_alone(cast: Cast) -> None:
    run_id = make_run(cast)
    kept, free = ended_batch(cast, run_id), ended_batch(cast)
    hold = place(cast, run_id)
    assert kept.output_file is not None
    own = {kept.input_file_id, kept.output_file.id}
    for file in (kept.input_file, kept.output_file):
        with pytest.raises(FileOnHold):
            file_delete(file=file, actor=ACTOR)
    file_delete(file=free.input_file, actor=ACTOR)
    assert sum(files_expire(later())) == 1
    assert files_of(cast) == own
    hold_release(hold=hold, actor=ACTOR)
    assert sum(files_expire(later())) == 2


def test_g13_results_that_a_dead_process_began_are_written_anew_on_hold(
    cast: Cast,
) -> None:
    """They are made of records that the hold keeps, and were handed to nobody."""
    batch = ended_batch(cast)
    torn = store(cast, FilePurpose.OUTPUT)
    torn.filename = f"batch_{batch.id.hex}_output.jsonl"
    torn.save()
    place(cast)
    results_discard(batch)
    assert torn.id not in files_of(cast)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["expiry", "deletion"])
def test_g13_hold_that_is_about_to_be_placed_is_waited_for(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    file, is_past = store(cast), threading.Event()
    lock: Callable[[uuid.UUID], Held] = holds_lock

    def locked(team_id: uuid.UUID) -> Held:
        found = lock(team_id)
        is_past.set()
        return found

    def delete_aside() -> None:
        try:
            if way == "expiry":
                list(files_expire(later()))
            else:
                file_delete(file=file, actor=ACTOR)
        except FileOnHold:
            pass
        finally:
            connection.close()

    monkeypatch.setattr(files_service, "holds_lock", locked)
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            place(cast)
            deleted = threads.submit(delete_aside)
            assert not is_past.wait(AWHILE_S)
        deleted.result(PATIENCE_S)
    assert files_of(cast) == {file.id}


def test_g13_team_goes_with_its_files_unless_it_is_on_hold(cast: Cast) -> None:
    run_id = make_run(cast)
    ended_batch(cast, run_id)
    hold = place(cast, run_id)
    slug = cast.team.slug
    with pytest.raises(Conflict, match="legal hold"):
        team_delete(team=cast.team, confirmation=slug, actor=ACTOR)
    hold_release(hold=hold, actor=ACTOR)
    team_id = cast.team.id
    team_delete(team=cast.team, confirmation=slug, actor=ACTOR)
    assert not StoredFile.objects.for_team(team_id).exists()
    assert not FilePart.objects.exists()
    assert not BatchLine.objects.exists()
