"""One of everything a team can have, by the names the addresses use."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone

from apps.accounts.models import Role
from apps.accounts.principal import member_principal, user_actor
from apps.accounts.services import invitation_create
from apps.attachments.services import attachment_store, uses_add
from apps.budgets.services import budget_create
from apps.comparisons.models import Comparison
from apps.conversations.services import conversation_of_run
from apps.core.ids import new_id
from apps.governance.services import hold_place, policy_replace, review_request
from apps.pools.models import Pool
from apps.pools.services import credential_create, pool_create
from apps.presets.services import preset_create
from apps.runs.models import Run, SavedView
from tests.alerts.examples import make_alert
from tests.audit.examples import make_export
from tests.conftest import Cast, make_pool
from tests.evaluation.samples import evaluation_ids
from tests.factories import (
    ACTOR,
    ConductorFactory,
    MembershipFactory,
    PriceFactory,
    WorkerFactory,
    issue_key,
)
from tests.governance.made_trials import make_trial
from tests.sharing.made_links import make_share_link
from tests.training.made_trainings import make_conductor_training, make_training
from tests.webhooks.examples import make_webhook

BASE_URL = "http://127.0.0.1:9/v1"
"""Nothing listens there."""
POLICY = {"rules": [{"name": "R", "mode": "off", "effect": {"kind": "deny"}}]}


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
    policy_replace(team=team, values=POLICY, actor=ACTOR)
    evaluations = evaluation_ids(team)
    return {
        "place": 0,
        "user_id": cast.bob.id,
        "invitation_id": invitation.id,
        "key_id": issue_key(team, name="Spare").row.id,
        "credential_id": credential.id,
        "worker_id": WorkerFactory.create(team=team, base_url=base_url).id,
        "conductor_id": pool.conductor.id,
        "pool_id": pool.id,
        "version": pool.version,
        "budget_id": budget.id,
        **make_run_with_file(cast),
        **make_conversation(cast),
        "comparison_id": make_comparison(cast),
        "link_id": make_share_link(
            Run.objects.for_team(team.id).get(id=make_run(cast)), cast.alice
        )["link_id"],
        "view_id": make_view(cast),
        "preset_id": make_preset(cast),
        "review_id": make_review(cast),
        "export_id": make_export(cast.team.id),
        "trial_id": make_trial(cast.team),
        **make_webhook(cast.team),
        **make_alert(cast.team),
        **evaluations,
        **make_training(team, pool.id, evaluations["evaluation_id"]),
        **make_conductor_training(team, pool.id, evaluations["evaluation_id"]),
        "hold_id": hold_place(
            team=team, run_id=None, reason="Matter 7", actor=ACTOR
        ).id,
    }


def more_things(cast: Cast, things: dict[str, Any]) -> None:
    """Add a few of everything that is listed."""
    team = cast.team
    for number in range(3):
        MembershipFactory.create(team=team)
        invitation_create(
            team=team, email=f"guest{number}@example.org", role="viewer", actor=ACTOR
        )
        issue_key(team, created_by=cast.bob)
        values = {"name": f"P{number}", "base_url": BASE_URL, "secret": "sk-canary"}
        credential = credential_create(team=team, values=values, actor=ACTOR)
        worker = WorkerFactory.create(team=team, credential=credential)
        PriceFactory.create(worker=worker)
        ConductorFactory.create(team=team, credential=credential)
        ids = [str(worker.id), str(things["worker_id"])]
        pool = {"name": f"more-{number}", "worker_ids": ids, "fallback_id": ids[0]}
        pool_create(team=team, values=pool, actor=ACTOR)
        make_run(cast, state="failed", error_code="worker_failed")
        make_review(cast)
        hold_place(team=team, run_id=None, reason=f"Matter {number}", actor=ACTOR)
    for period in ("day", "run"):
        values = {"kind": "team", "period": period, "limit_usd": "1.00"}
        budget_create(team=team, values=values, actor=ACTOR)


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


def make_run_with_file(cast: Cast) -> dict[str, uuid.UUID]:
    """Make a run that has a file of Alice's."""
    run_id = make_run(cast)
    file = attachment_store(
        team_id=cast.team.id,
        owner=user_actor(cast.alice, {}),
        name="figures.csv",
        content=b"year,sum",
    )
    uses_add(cast.team.id, run_id, [file.id])
    return {"run_id": run_id, "attachment_id": file.id}


def make_conversation(cast: Cast) -> dict[str, uuid.UUID]:
    """Make a conversation of Alice's that begins with a run."""
    run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))
    made = conversation_of_run(run, user_actor(cast.alice, {}))
    assert made.shown_id is not None
    return {"conversation_id": made.id, "turn_id": made.shown_id}


def make_comparison(cast: Cast) -> uuid.UUID:
    """Make a comparison of two runs of Alice's, which have no entries."""
    made = Comparison.objects.create(
        team=cast.team,
        actor_type="user",
        actor_id=str(cast.alice.id),
        actor_name="Alice",
        is_blind=False,
        has_same_prompt=True,
    )
    for position in range(2):
        made.answers.create(
            position=position, run_id=make_run(cast), model="conductor-mini"
        )
    return made.id


def make_view(cast: Cast) -> uuid.UUID:
    """Make a view of the list of runs that Alice shares."""
    return SavedView.objects.create(
        team=cast.team,
        user=cast.alice,
        name="Failed",
        query="state=failed",
        is_shared=True,
    ).id


def make_preset(cast: Cast) -> uuid.UUID:
    """Make a preset that Alice shares."""
    owner = member_principal(cast.alice, cast.team, Role.OWNER, {})
    values = {"name": "Greet", "prompt": "Hello {{name}}", "is_shared": True}
    return preset_create(principal=owner, values=values).id


def make_review(cast: Cast) -> uuid.UUID:
    """Put a run that has ended into the review queue."""
    run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))
    asking = member_principal(cast.bob, cast.team, Role.MEMBER, {})
    return review_request(run=run, principal=asking).id
