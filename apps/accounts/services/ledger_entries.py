"""Helpers of this app's services: locking, saving and appending entries."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import models

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.errors import NotFound


def record(team_id: uuid.UUID, *drafts: EntryDraft) -> None:
    """Append entries to the team's chain, in the open transaction."""
    entries_append(batch=Batch(team_id=team_id, drafts=drafts))


def lock_team(team_id: uuid.UUID) -> Team:
    """Return the team, locked until the open transaction ends.

    Two owners who remove each other, or two changes of one field, come one by one.
    Raises: NotFound if the team has been deleted meanwhile.
    """
    team = Team.objects.select_for_update().filter(pk=team_id).first()
    if team is None:
        raise NotFound("this team has been deleted")
    return team


def apply_changes(
    row: models.Model, changes: Mapping[str, Any]
) -> dict[str, dict[str, Any]] | None:
    """Save what differs from the row; return it before and after, None if nothing does.

    Values must be such as an entry can hold.
    """
    before = {name: getattr(row, name) for name in changes}
    after = {name: value for name, value in changes.items() if before[name] != value}
    if not after:
        return None
    for name, value in after.items():
        setattr(row, name, value)
    row.save(update_fields=list(after))
    return {"before": {name: before[name] for name in after}, "after": after}


def to_seconds(moment: datetime) -> str:
    """Return a moment as entries hold it."""
    return moment.isoformat(timespec="seconds")
