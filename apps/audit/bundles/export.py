"""Exports the record of a run, and records that it was exported."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from apps.audit.browsing.run_checks import run_check
from apps.audit.bundles.archive import bundle_archive
from apps.audit.bundles.contents import bundle_contents
from apps.audit.bundles.verifier import BundleRefused, BundleSummary, verify_bundle
from apps.audit.models import Content, Entry
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict

BUNDLE_TYPE = "application/zip"
RUN_EXPORTED = "run.exported"
MAX_TEXT_BYTES = 32 * 2**20
"""Of all texts of a run that a request exports by itself, which takes one to two
seconds (`bench.ledger_exports`). Longer records are exported in the background."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunBundle:
    """An export that verifies."""

    name: str
    """Of the file."""
    content: bytes
    summary: BundleSummary


def bundle_is_long(team_id: UUID, run_id: UUID) -> bool:
    """Say whether the texts of a run are too long to be exported within a request."""
    seqs = Entry.objects.for_team(team_id).filter(subject_id=run_id).values("seq")
    texts = Content.objects.for_team(team_id).filter(seq__in=seqs)
    size: int = texts.aggregate(size=Sum("size", default=0))["size"]
    return size > MAX_TEXT_BYTES


def bundle_create(*, team_id: UUID, run_id: UUID, actor: Actor) -> RunBundle:
    """Export what is recorded of a run so far, as a file that verifies by itself.

    It is verified before anyone gets it, and recorded in the team's chain. Signs the
    end of the chain first, if no checkpoint covers the run yet. Raises: NotFound if the
    team has no such run; Conflict if its record does not verify or cannot be signed.
    What is wrong with its entries is recorded too.
    """
    try:
        content, summary = _verified(team_id, run_id)
    except Conflict:
        run_check(team_id=team_id, run_id=run_id, actor=actor)
        raise
    draft = EntryDraft(
        RUN_EXPORTED,
        "team",
        team_id,
        actor,
        {
            "run_id": str(run_id),
            "entries": summary.entries,
            "checkpoint": summary.size,
            "sha256": sha256(content).hexdigest(),
        },
    )
    with transaction.atomic():
        entries_append(batch=Batch(team_id, (draft,)))
    return RunBundle(f"run-{run_id}.zip", content, summary)


def _verified(team_id: UUID, run_id: UUID) -> tuple[bytes, BundleSummary]:
    """Return an export and what its verification says. Raises: NotFound, Conflict."""
    contents = bundle_contents(team_id, run_id)
    content = bundle_archive(contents, timezone.now())
    try:
        return content, verify_bundle(io.BytesIO(content), team=team_id, run=run_id)
    except BundleRefused as exc:
        logger.error("the export of run %s does not verify: %s", run_id, exc)
        raise Conflict(f"the record of this run does not verify: {exc}") from exc
