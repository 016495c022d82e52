"""Changes which runs a team reviews and how: on record, with the values before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import VersionConflict
from apps.core.input_parts import values_read
from apps.governance.reviews.feeding import watch_begin, watch_end
from apps.governance.reviews.models import ReviewSettings
from apps.governance.reviews.rules import ReviewDocument
from apps.governance.selectors import policies_forget


@transaction.atomic
def review_settings_replace(
    *,
    team: Team,
    values: Mapping[str, Any],
    actor: Actor,
    expected_version: int | None = None,
) -> ReviewSettings:
    """Put new rules and a new rubric in force; equal ones make no new version.

    Rules that are new look at runs in progress and at those that start from then on.
    Raises: InvalidFields; VersionConflict.
    """
    document = values_read(ReviewDocument, values)
    rows = ReviewSettings.objects.for_team(team.id).select_for_update()
    settings, _ = rows.get_or_create(team_id=team.id)
    if expected_version not in (None, settings.version):
        raise VersionConflict(
            f"the settings are at version {settings.version} by now, not at "
            f"{expected_version}"
        )
    before, after = settings.document, document.values()
    if before == after:
        return settings
    if document.is_watching and not settings.is_watching:
        watch_begin(settings, timezone.now())
    if settings.is_watching and not document.is_watching:
        watch_end(settings)
    settings.document, settings.is_watching = after, document.is_watching
    settings.version += 1
    settings.actor_name = actor.display[:200]
    settings.save()
    facts = {"version": settings.version, "before": before, "after": after}
    draft = EntryDraft("review.settings_updated", "review", team.id, actor, facts)
    entries_append(batch=Batch(team.id, (draft,)))
    team_id = team.id
    transaction.on_commit(lambda: policies_forget(team_id))
    return settings
