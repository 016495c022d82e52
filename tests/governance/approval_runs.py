"""Runs whose plans wait for approval, over REST, and what people decide of them."""

from __future__ import annotations

import uuid
from typing import Any

from apps.accounts.models import Role, User
from apps.audit.models import Entry
from apps.runs.models import ApprovalState, PlanApproval, Run
from tests.conftest import Site
from tests.factories import MembershipFactory, UserFactory
from tests.governance.test_policies import PROMPT
from tests.patience import awaited, eventually
from tests.rest.conftest import Caller

HOLD = {
    "name": "Falcon needs a second pair of eyes",
    "conditions": {"words": ["Project Falcon"]},
    "effect": {"kind": "require_approval"},
}
TWO = {**HOLD, "effect": {"kind": "require_approval", "approvers": 2, "hours": 4}}


def start(who: Caller, prompt: str = PROMPT, **fields: Any) -> uuid.UUID:
    """Start a run and return its id once its plan waits."""
    order = {"model": "conductor-ultra", "prompt": prompt, **fields}
    response = who.post("runs/", order)
    assert response.status_code == 201, response.content
    run_id = uuid.UUID(response.json()["id"])
    assert eventually(lambda: waiting(run_id) or not _goes_on(run_id))
    assert _goes_on(run_id)
    return run_id


def _goes_on(run_id: uuid.UUID) -> bool:
    return Run.objects.across_teams().get(id=run_id).state == "running"


def waiting(run_id: uuid.UUID) -> bool:
    rows = PlanApproval.objects.across_teams().filter(run_id=run_id)
    return rows.filter(state=ApprovalState.WAITING, settled_at=None).exists()


def pending(who: Caller, run_id: uuid.UUID) -> dict[str, Any]:
    response = who.get(f"runs/{run_id}/approval/")
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def approve(who: Caller, run_id: uuid.UUID, digest: str, **more: Any) -> Any:
    path = f"runs/{run_id}/approval/approve/"
    return who.post(path, {"plan_digest": digest, **more})


def refuse(who: Caller, run_id: uuid.UUID, digest: str, reason: str) -> Any:
    path = f"runs/{run_id}/approval/refuse/"
    return who.post(path, {"plan_digest": digest, "reason": reason})


def ended(run_id: uuid.UUID) -> Run:
    """Return the run once it has ended; it must end by itself."""
    rows = Run.objects.across_teams().exclude(state="running").filter(id=run_id)
    return awaited(rows.first)


def actions_of(run_id: uuid.UUID) -> list[str]:
    rows = Entry.objects.across_teams().filter(subject_id=run_id).order_by("seq")
    return list(rows.values_list("action", flat=True))


def colleague(site: Site, name: str, role: Role) -> User:
    user = UserFactory.create(email=f"{name}@example.org", name=name.title())
    MembershipFactory.create(team=site.cast.team, user=user, role=role)
    return user
