"""Requests exports, makes them in the background, and deletes them."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, IntegrityError, InterfaceError, transaction
from django.utils import timezone

from apps.audit.browsing.search import EntryFilter
from apps.audit.exports.archive import archive_write
from apps.audit.exports.bundle import bundle_write
from apps.audit.exports.filters import filter_facts
from apps.audit.exports.parts import PartWriter, claim_of, parts_read
from apps.audit.jobs import BROKE_OFF, Heartbeat, actor_facts, job_claim
from apps.audit.models import ChainHead, ExportFormat, JobState, LedgerExport
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, NotFound, SecretUnreadable
from apps.core.scoping import TeamQuerySet

logger = logging.getLogger(__name__)

KEPT_FOR = timedelta(days=7)
"""A file is deleted so long after it is complete."""
MAX_KEPT = 20
"""Exports that a team has at a time, in progress or complete."""
UNREADABLE = "a text in the ledger cannot be decrypted; verify the ledger"


def export_request(
    *,
    team_id: UUID,
    wanted: EntryFilter,
    form: ExportFormat,
    has_texts: bool,
    actor: Actor,
) -> LedgerExport:
    """Order an export of a team's entries up to now, and record who ordered it.

    Raises: Conflict if the team has as many exports as it may have.
    """
    if export_list(team_id=team_id).count() >= MAX_KEPT:
        raise Conflict(f"a team has {MAX_KEPT} exports at most; delete one first")
    heads = ChainHead.objects.filter(team_id=team_id)
    export = LedgerExport(
        team_id=team_id,
        format=form,
        has_texts=has_texts,
        filter=filter_facts(wanted),
        through_seq=heads.values_list("seq", flat=True).first() or 0,
        state=JobState.WAITING,
        requested_by=actor_facts(actor),
        beat_at=timezone.now(),
    )
    facts = {
        "format": str(form),
        "texts": has_texts,
        "filter": export.filter,
        "through": export.through_seq,
    }
    with transaction.atomic():
        export.save(force_insert=True)
        _record(export, "ledger_export.requested", actor, facts)
    return export


def export_list(*, team_id: UUID) -> TeamQuerySet[LedgerExport]:
    """Return the exports of a team, newest first."""
    return LedgerExport.objects.for_team(team_id)


def access_export(*, team_id: UUID, export_id: UUID) -> LedgerExport:
    """Return an export of a team. Raises: NotFound."""
    found = export_list(team_id=team_id).filter(id=export_id).first()
    if found is None:
        raise NotFound(f"this team has no export {str(export_id)!r}")
    return found


def export_download(*, export: LedgerExport, actor: Actor) -> Iterator[bytes]:
    """Record that someone downloads an export, and return its file, piece by piece.

    Raises: Conflict if there is no file (yet); NotFound if it has expired.
    """
    if export.state != JobState.DONE:
        raise Conflict("this export is not complete yet")
    if export.error:
        raise Conflict(f"this export has no file: {export.error}")
    if export.expires_at is None or export.expires_at <= timezone.now():
        raise NotFound("this export has expired; request it again")
    with transaction.atomic():
        facts = {"sha256": export.sha256, "bytes": export.size}
        _record(export, "ledger_export.downloaded", actor, facts)
    return parts_read(export)


def export_delete(*, export: LedgerExport, actor: Actor) -> None:
    """Delete an export, or cancel it if it is in progress, and record that."""
    with transaction.atomic():
        if export_list(team_id=export.team_id).filter(id=export.id).delete()[0]:
            facts = {"was_complete": bool(export.sha256)}
            _record(export, "ledger_export.deleted", actor, facts)


def exports_expire(now: datetime | None = None) -> Iterator[int]:
    """Delete exports that have expired, one at a time. Yields 1 for each."""
    due = LedgerExport.objects.across_teams().filter(
        expires_at__lte=now or timezone.now()
    )
    for export in list(due.only("id", "team_id")):
        export.delete()
        yield 1


def export_take() -> Generator[None] | None:
    """Return the steps of the export that has waited longest; None: none waits."""
    export = job_claim(
        LedgerExport.objects.across_teams(), entries=0, reached_seq=0, error=""
    )
    return None if export is None else _steps(export)


def _steps(export: LedgerExport) -> Generator[None]:
    """Make an export, one page of entries at a time; closing it gives the job back."""
    claimed = export_list(team_id=export.team_id).filter(claim_id=claim_of(export))
    heart = Heartbeat(claimed)
    export.parts.exclude(claim_id=claim_of(export)).delete()
    target = PartWriter(export)
    try:
        is_proven = export.format == ExportFormat.BUNDLE
        write = bundle_write if is_proven else archive_write
        for _ in write(export, target):
            if not heart.beat(entries=export.entries, reached_seq=export.reached_seq):
                return  # it was deleted, or another process took it for lost
            yield
        export.sha256, export.size = target.finish(), target.size
        _finish(export)
    except GeneratorExit:
        claimed.update(state=JobState.WAITING)
        raise
    except IntegrityError:
        return  # it was deleted meanwhile
    except (DatabaseError, InterfaceError):
        raise  # it is begun again once it counts as lost
    except SecretUnreadable:
        _finish(export, UNREADABLE)
    except Conflict as exc:
        _finish(export, exc.message[:300])
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("ledger: export %s broke off", export.id)
        _finish(export, BROKE_OFF)


def _finish(export: LedgerExport, error: str = "") -> None:
    """Store how an export ended, unless it is no longer this process's."""
    now = timezone.now()
    values: dict[str, Any] = {
        "state": JobState.DONE,
        "entries": export.entries,
        "reached_seq": export.reached_seq,
        "size": export.size,
        "sha256": export.sha256,
        "error": error,
        "beat_at": now,
        "finished_at": now,
        "expires_at": now + KEPT_FOR,
    }
    claimed = export_list(team_id=export.team_id).filter(claim_id=claim_of(export))
    facts = {"entries": export.entries, "bytes": export.size, "sha256": export.sha256}
    with transaction.atomic():
        if not claimed.update(**values):
            return
        outcome = "failure" if error else "success"
        facts = {"error": error} if error else facts
        actor = Actor(**export.requested_by)
        _record(export, "ledger_export.completed", actor, facts, outcome)
    if error:
        export.parts.all().delete()


def _record(
    export: LedgerExport,
    action: str,
    actor: Actor,
    facts: dict[str, Any],
    outcome: str = "success",
) -> None:
    draft = EntryDraft(
        action, "ledger_export", export.id, actor, facts, outcome=outcome
    )
    entries_append(batch=Batch(export.team_id, (draft,)))
