"""One of everything a team can have, by the names the addresses use."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone

from apps.accounts.services import invitation_create
from apps.budgets.services import budget_create
from apps.core.ids import new_id
from apps.pools.models import Pool
from apps.pools.services import credential_create
from apps.runs.models import Run
from tests.conftest import Cast, make_pool
from tests.factories import ACTOR, WorkerFactory, issue_key

BASE_URL = "http://127.0.0.1:9/v1"
"""Nothing listens there."""


def make_things(cast: Cast, base_url: str = BASE_URL) -> dict[str, Any]:
    """Give the team of the cast one of everything; return the ids."""
    team = cast.team
    make_pool(team, base_url)
    pool: Pool = team.pools.get()
    assert pool.conductor is not None
    credential = credential_create(
        team=team,
        values={"name": "Provider", "base_url": base_url, "secret": "sk-canary"},
        actor=ACTOR,
    )
    invitation, _ = invitation_create(
        team=team, email="carol@example.org", role="member", actor=ACTOR
    )
    budget = budget_create(
        team=team,
        values={"kind": "team", "period": "month", "limit_usd": "10.00"},
        actor=ACTOR,
    )
    return {
        "user_id": cast.bob.id,
        "invitation_id": invitation.id,
        "key_id": issue_key(team, name="Spare").row.id,
        "credential_id": credential.id,
        "worker_id": WorkerFactory.create(team=team, base_url=base_url).id,
        "conductor_id": pool.conductor.id,
        "pool_id": pool.id,
        "version": pool.version,
        "budget_id": budget.id,
        "run_id": make_run(cast),
    }


def make_run(cast: Cast, **values: Any) -> uuid.UUID:
    """Put a run on the list that has ended, without entries."""
    row = {
        "id": new_id(),
        "state": "completed",
        "source": "api",
        "model": "conductor-mini",
        "pool_name": "house",
        "pool_version": 1,
        "title": "What is 17 * 23 + 4?",
        "actor_type": "user",
        "actor_id": str(cast.alice.id),
        "actor_name": "Alice",
        "user": cast.alice,
        "created_at": timezone.now(),
        "cost_micros": 12_500,
        **values,
    }
    return Run.objects.create(team=cast.team, **row).id
