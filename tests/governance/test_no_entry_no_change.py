"""If an entry cannot be written, the change that it reports does not happen.

For every kind of change a person makes: the ledger is away, and not a row differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError
from django.utils import timezone

from apps.accounts.models import Role
from apps.accounts.principal import Principal, member_principal
from apps.accounts.services import (
    api_key_issue,
    api_key_revoke,
    api_key_rotate,
    member_change_role,
)
from apps.audit.browsing.search import EntryFilter
from apps.audit.exports.jobs import export_delete, export_request
from apps.audit.models import ExportFormat
from apps.engine import events as ev
from apps.engine.replay import plan_on_record
from apps.governance.approvals.pending import PendingPlan
from apps.governance.reviews.reads import review_of_run
from apps.governance.services import (
    feedback_give,
    hold_place,
    plan_approve,
    plan_refuse,
    policy_replace,
    retention_set,
    review_judge,
    review_request,
    review_reserve,
    site_policy_replace,
)
from apps.pools.models import Worker
from apps.pools.services import pool_update, worker_update
from apps.runs.coordination.suspensions import runs_allow, runs_suspend
from apps.runs.models import ApprovalState, PlanApproval, Run
from apps.runs.records.run_view import fold
from apps.training.services import training_settings_replace
from apps.webhooks.services import webhook_create
from tests.conftest import Cast
from tests.engine.test_parts import EXAMPLES
from tests.factories import ACTOR, PoolFactory
from tests.governance.reviews.conftest import RUBRIC, SCORES, rules
from tests.rest.things import make_run
from tests.webhooks.examples import URL

RULES = {"rules": [{"name": "No Falcon", "effect": {"kind": "deny"}}]}
HOOK = {"name": "On call", "kind": "events", "url": URL, "event_types": ["run.ended"]}
Change = Callable[[Cast], Callable[[], object]]
"""Prepares what is there before; what it returns makes the change."""


class LedgerAway(DatabaseError):
    """An entry cannot be written."""


def alice(cast: Cast) -> Principal:
    return member_principal(cast.alice, cast.team, Role.OWNER, {})


def ended_run(cast: Cast) -> Run:
    run_id = make_run(cast, user=cast.bob, actor_id=str(cast.bob.id))
    return Run.objects.for_team(cast.team.id).get(id=run_id)


def waiting_plan(cast: Cast) -> PendingPlan:
    """A plan of Bob's run that waits for one person."""
    (request,) = (each for each in EXAMPLES if isinstance(each, ev.ApprovalRequested))
    plan, run, now = plan_on_record(request), ended_run(cast), timezone.now()
    row = PlanApproval.objects.create(
        team=cast.team,
        run=run,
        round=0,
        state=ApprovalState.WAITING,
        plan_digest=plan.digest,
        approvals_needed=1,
        requester_id=cast.bob.id,
        requested_at=now,
        expires_at=now + timedelta(hours=1),
    )
    workers = tuple(step.worker for step in plan.steps)
    view = fold([])
    return PendingPlan(row, run, view, request, plan, plan, workers, 8, (), frozenset())


# --- changes -------------------------------------------------------------------------


def team_policy(cast: Cast) -> Callable[[], object]:
    return lambda: policy_replace(team=cast.team, values=RULES, actor=ACTOR)


def site_policy(cast: Cast) -> Callable[[], object]:
    return lambda: site_policy_replace(values=RULES, actor=ACTOR)


def approval(cast: Cast) -> Callable[[], object]:
    pending = waiting_plan(cast)
    digest, principal = pending.plan.digest, alice(cast)
    return lambda: plan_approve(
        pending=pending, plan_digest=digest, principal=principal
    )


def edited_plan(cast: Cast) -> Callable[[], object]:
    pending = waiting_plan(cast)
    steps = [{"worker": pending.workers[0], "subtask": "Only this.", "access": []}]
    return lambda: plan_approve(
        pending=pending,
        plan_digest=pending.plan.digest,
        principal=alice(cast),
        plan={"steps": steps},
    )


def refusal(cast: Cast) -> Callable[[], object]:
    pending = waiting_plan(cast)
    return lambda: plan_refuse(
        pending=pending,
        plan_digest=pending.plan.digest,
        principal=alice(cast),
        reason="Not now.",
    )


def review(cast: Cast) -> Callable[[], object]:
    run, principal = ended_run(cast), alice(cast)
    return lambda: review_request(run=run, principal=principal)


def verdict(cast: Cast) -> Callable[[], object]:
    rules(cast.team, rubric=RUBRIC)
    run, principal = ended_run(cast), alice(cast)
    review_request(run=run, principal=principal)
    item = review_of_run(cast.team.id, run.id)
    assert item is not None
    review_reserve(item=item, principal=principal)
    return lambda: review_judge(
        item=item, principal=principal, verdict="pass", scores=SCORES
    )


def feedback(cast: Cast) -> Callable[[], object]:
    run = ended_run(cast)
    return lambda: feedback_give(run=run, rating="down", actor=ACTOR, comment="No.")


def webhook(cast: Cast) -> Callable[[], object]:
    return lambda: webhook_create(team=cast.team, values=HOOK, actor=ACTOR)


def ledger_export(cast: Cast) -> Callable[[], object]:
    return lambda: export_request(
        team_id=cast.team.id,
        wanted=EntryFilter(),
        form=ExportFormat.JSONL,
        has_texts=True,
        actor=ACTOR,
    )


def export_deletion(cast: Cast) -> Callable[[], object]:
    made: Any = ledger_export(cast)()
    return lambda: export_delete(export=made, actor=ACTOR)


def suspension(cast: Cast) -> Callable[[], object]:
    return lambda: runs_suspend(team=cast.team, reason="A leak.", actor=ACTOR)


def suspension_of_the_site(cast: Cast) -> Callable[[], object]:
    return lambda: runs_suspend(team=None, reason="A leak.", actor=ACTOR)


def end_of_a_suspension(cast: Cast) -> Callable[[], object]:
    suspension(cast)()
    return lambda: runs_allow(team=cast.team, actor=ACTOR)


def key(cast: Cast) -> Callable[[], object]:
    return lambda: api_key_issue(team=cast.team, name="New", actor=ACTOR)


def rotated_key(cast: Cast) -> Callable[[], object]:
    return lambda: api_key_rotate(api_key=cast.key.row, actor=ACTOR)


def revoked_key(cast: Cast) -> Callable[[], object]:
    return lambda: api_key_revoke(api_key=cast.key.row, actor=ACTOR)


def role(cast: Cast) -> Callable[[], object]:
    return lambda: member_change_role(
        team=cast.team,
        user=cast.bob,
        role=Role.ADMIN,
        actor=ACTOR,
        acting_role=Role.OWNER,
    )


def pool(cast: Cast) -> Callable[[], object]:
    made = PoolFactory.create(team=cast.team)
    return lambda: pool_update(pool=made, values={"name": "other"}, actor=ACTOR)


def worker(cast: Cast) -> Callable[[], object]:
    PoolFactory.create(team=cast.team)
    made = Worker.objects.for_team(cast.team.id).earliest("id")
    return lambda: worker_update(worker=made, values={"name": "other"}, actor=ACTOR)


def retention(cast: Cast) -> Callable[[], object]:
    return lambda: retention_set(team=cast.team, days=365, actor=ACTOR)


def hold(cast: Cast) -> Callable[[], object]:
    return lambda: hold_place(
        team=cast.team, run_id=None, reason="A court.", actor=ACTOR
    )


def training(cast: Cast) -> Callable[[], object]:
    values = {"learns_from_requests": True}
    return lambda: training_settings_replace(team=cast.team, values=values, actor=ACTOR)


CHANGES: tuple[Change, ...] = (
    team_policy,
    site_policy,
    approval,
    edited_plan,
    refusal,
    review,
    verdict,
    feedback,
    webhook,
    ledger_export,
    export_deletion,
    suspension,
    suspension_of_the_site,
    end_of_a_suspension,
    key,
    rotated_key,
    revoked_key,
    role,
    pool,
    worker,
    retention,
    hold,
    training,
)


# --- the promise ---------------------------------------------------------------------


def rows() -> dict[str, list[Any]]:
    """Return every row of every table of the product."""
    return {label: list(found) for label, found in _tables()}


def _tables() -> Iterator[tuple[str, Any]]:
    for model in apps.get_models():
        if model.__module__.startswith("apps."):
            yield model._meta.label, model._base_manager.order_by("pk").values_list()


@pytest.mark.parametrize("prepare", CHANGES, ids=lambda change: change.__name__)
def test_without_its_entry_a_change_does_not_happen(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, prepare: Change
) -> None:
    change = prepare(cast)
    before = rows()

    def refuse(*_: object) -> None:
        raise LedgerAway

    with monkeypatch.context() as away:
        away.setattr("apps.audit.services.append", refuse)
        with pytest.raises(LedgerAway):
            change()
    assert rows() == before
    change()
    assert rows() != before
