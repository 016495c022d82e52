"""A share link, without the services that make one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.accounts.digests import SHARE_LINK, digests_of, token_generate
from apps.accounts.models import User
from apps.runs.models import Run
from apps.sharing.models import ShareLink, SharingSettings


def make_share_link(run: Run, made_by: User) -> dict[str, Any]:
    """Share a run of a team, which allows that; the link was opened before."""
    allowed = SharingSettings.objects.for_team(run.team_id)
    allowed.update_or_create(team=run.team, defaults={"is_on": True})
    secret, now = token_generate(), timezone.now()
    link = ShareLink.objects.create(
        team=run.team,
        digest=digests_of(secret, purpose=SHARE_LINK)[0],
        run=run,
        made_by=made_by,
        made_by_name=made_by.get_full_name(),
        has_plan=False,
        has_name=False,
        data_class="internal",
        created_at=now,
        expires_at=now + timedelta(days=1),
        views=1,
        last_viewed_at=now - timedelta(hours=1),
    )
    return {"link_id": link.id, "share_token": secret}
