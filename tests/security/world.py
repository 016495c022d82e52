"""Two teams: one that owns one of everything, each marked, and one that is curious."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiKey, Role, Scope, Team, User
from apps.accounts.principal import member_principal, user_actor
from apps.accounts.services import (
    api_key_revoke,
    invitation_create,
    member_add,
    member_remove,
)
from apps.attachments.services import attachment_store, uses_add
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.budgets.services import budget_create
from apps.comparisons.models import Comparison
from apps.conversations.services import conversation_of_run
from apps.core.ids import new_id
from apps.engine.codec import encode
from apps.engine.events import ApprovalRequested
from apps.evaluation.models import StepGrade
from apps.governance.models import ReviewItem, ReviewState
from apps.governance.services import hold_place, policy_replace
from apps.pools.models import Pool
from apps.pools.services import (
    conductor_create,
    credential_create,
    pool_create,
    worker_create,
    worker_update,
)
from apps.presets.services import preset_create, preset_update
from apps.runs.models import ApprovalState, PlanApproval, Run, RunState, SavedView
from apps.training.services import training_settings_replace
from tests.alerts.examples import make_alert
from tests.audit.examples import make_export
from tests.evaluation.samples import evaluation_ids
from tests.factories import (
    ACTOR,
    BASE_URL,
    IssuedKey,
    MembershipFactory,
    TeamFactory,
    UserFactory,
    issue_key,
)
from tests.governance.made_trials import make_trial
from tests.playground import stories
from tests.security.routes import Route
from tests.sharing.made_links import make_share_link
from tests.training.made_trainings import make_conductor_training, make_training
from tests.webhooks.examples import make_webhook

MARK = "marked-7f3a"
PATTERN = "own_kind"
"""In every name and text of the team; no stranger's answer may hold it."""
VERSION = 2
"""Of pool and policy. A stranger who makes a policy of their own has version 1."""
WAITING = ApprovalRequested(
    round=0,
    planner="scripted",
    plan_digest="d" * 64,
    approvals_needed=1,
    expires_at="2099-01-01T00:00:00+00:00",
    rules=("team: Hold",),
    reason="Rule 'Hold' says: hold the plan",
    estimated_cost_micros=None,
    workers=("a",),
    access=((),),
    subtasks=("?",),
    reasoning="?",
)
"""A plan that people must approve."""
SEQ = 5
"""Of an entry. A stranger's chain has none there."""
QUERIES = {
    "rest:pool_changes": "?older=1&newer=2",
    "rest:retention_conversations": "?days=90",
    "rest:evaluation_comparison": "?with={other_evaluation_id}",
}
"""What some addresses cannot do without; names are those of arguments."""
PLAIN_TEXTS = frozenset({"prompt", "answer", "text", "reasoning"})
"""Bodies that are no JSON."""
NOT_CHANGED = frozenset({"last_used_at", "last_viewed_at", "views"})
"""Columns that reading may change."""


@dataclass(frozen=True)
class World:
    """A team with one of everything."""

    team: Team
    people: Mapping[str, User]
    """By role; `former` was a member once, `stranger` owns another team."""
    keys: Mapping[str, IssuedKey]
    """`own` and `revoked` are the team's, `foreign` is the stranger's."""
    arguments: Mapping[str, Any]
    """What stands for each argument of an address."""
    sessions: dict[str, Session] = field(default_factory=dict)
    """By the same names as people, as they were when they began."""

    def browser(self, who: str) -> Client:
        """Return a browser of somebody; `anonymous` is not signed in."""
        client = Client(raise_request_exception=False)
        if who == "anonymous":
            return client
        if who not in self.sessions:
            client.force_login(self.people[who])
            key = client.cookies[settings.SESSION_COOKIE_NAME].value
            self.sessions[who] = Session.objects.get(session_key=key)
        session = self.sessions[who]
        session.save()  # whatever a page has put into it, or if one has ended it
        client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
        return client

    def program(self, key: str) -> Client:
        """Return a client that sends a key."""
        secret = self.keys[key].secret
        headers = {"authorization": f"Bearer {secret}"}
        return Client(raise_request_exception=False, headers=headers)

    def address(self, route: Route) -> str:
        """Return the address of a route, about the team's own things."""
        if route.name == "rest:nothing":
            return "/api/v1/nothing/"
        if ":" not in route.name and route.name == route.pattern:
            return f"/{route.pattern}"
        named = {name: self.arguments[name] for name in route.arguments}
        query = QUERIES.get(route.name, "").format_map(self.arguments)
        return reverse(route.name, kwargs=named) + query

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return everything the team owns, but for what reading may change."""
        owned = {model._meta.label: self._rows(model) for model in apps.get_models()}
        return {label: rows for label, rows in owned.items() if rows}

    def _rows(self, model: type[models.Model]) -> list[dict[str, Any]]:
        names = {field.attname for field in model._meta.concrete_fields}
        if model is Team:
            found = Team.objects.filter(id=self.team.id)
        elif "team_id" in names:
            manager: Any = model._default_manager
            found = manager.filter(team_id=self.team.id)
            found = found.across_teams() if hasattr(found, "across_teams") else found
        else:
            return []
        return list(found.order_by("pk").values(*sorted(names - NOT_CHANGED)))


def build_world() -> World:
    """Build both teams."""
    team = TeamFactory.create(name=f"Team {MARK}", slug=MARK)
    people = _people(team)
    owner = people[Role.OWNER]
    keys = {
        "own": _key(team, owner),
        "revoked": _key(team, owner),
        "foreign": issue_key(people["stranger"].teams.get(), scopes=tuple(Scope)),
    }
    api_key_revoke(api_key=keys["revoked"].row, actor=ACTOR)
    invitation, token = invitation_create(
        team=team, email=f"new-{MARK}@example.org", role=Role.MEMBER, actor=ACTOR
    )
    arguments = {
        **_pool(team),
        **_run(team, owner),
        "user_id": people[Role.MEMBER].id,
        "invitation_id": invitation.id,
        "token": token,
        "key_id": keys["own"].row.id,
        "budget_id": _budget(team, keys["own"].row).id,
        "place": _rule(team),
        "name": PATTERN,
        "seq": SEQ,
        "export_id": make_export(team.id),
        "trial_id": make_trial(team, f"rule {MARK}"),
        **make_webhook(team, f"webhook {MARK}"),
        **make_alert(team, f"worker {MARK}"),
        **evaluation_ids(team, f"suite {MARK}"),
        "hold_id": hold_place(team=team, run_id=None, reason=MARK, actor=ACTOR).id,
    }
    arguments |= _learning(team, arguments)
    arguments |= make_share_link(
        Run.objects.for_team(team.id).get(id=arguments["run_id"]), owner
    )
    return World(team, people, keys, arguments)


def _people(team: Team) -> dict[str, User]:
    people = {}
    for role in Role.values:
        user = UserFactory.create(email=f"{role}@example.org", name=f"{role} {MARK}")
        people[role] = MembershipFactory.create(team=team, user=user, role=role).user
    former = UserFactory.create(email="former@example.org")
    member_add(team=team, user=former, role=Role.ADMIN, actor=ACTOR)
    member_remove(team=team, user=former, actor=ACTOR)
    stranger = UserFactory.create(email="stranger@example.org")
    MembershipFactory.create(team=TeamFactory.create(), user=stranger, role=Role.OWNER)
    return {**people, "former": former, "stranger": stranger}


def _key(team: Team, owner: User) -> IssuedKey:
    name = f"key {MARK}"
    return issue_key(team, name=name, scopes=tuple(Scope), created_by=owner)


def _pool(team: Team) -> dict[str, Any]:
    credential = credential_create(
        team=team,
        values={"name": f"credential {MARK}", "base_url": BASE_URL, "secret": MARK},
        actor=ACTOR,
    )
    model = {"base_url": BASE_URL, "model": MARK, "credential_id": credential.id}
    worker = worker_create(
        team=team, values={"name": f"worker-{MARK}", **model}, actor=ACTOR
    )
    conductor = conductor_create(
        team=team, values={"name": f"conductor-{MARK}", **model}, actor=ACTOR
    )
    pool: Pool = pool_create(
        team=team,
        values={
            "name": f"pool-{MARK}",
            "is_default": True,
            "conductor_id": conductor.id,
            "worker_ids": [worker.id],
            "fallback_id": worker.id,
            "tiers": {"mini": {}, "ultra": {}},
        },
        actor=ACTOR,
    )
    worker_update(worker=worker, values={"description": MARK}, actor=ACTOR)
    return {
        "credential_id": credential.id,
        "worker_id": worker.id,
        "conductor_id": conductor.id,
        "pool_id": pool.id,
        "version": VERSION,
    }


def _rule(team: Team) -> int:
    """Make versions of the policy up to `VERSION`; return the place of its rule."""
    rule = {"name": MARK, "mode": "off", "effect": {"kind": "deny"}}
    for number in range(VERSION):
        rules = [{**rule, "name": f"{MARK} {number}"}]
        patterns = [{"name": PATTERN, "pattern": MARK}]
        values = {"rules": rules, "patterns": patterns}
        policy_replace(team=team, values=values, actor=ACTOR)
    return 0


def _budget(team: Team, key: ApiKey) -> Any:
    values = {"kind": "key", "api_key_id": key.id, "period": "day", "limit_usd": "9"}
    return budget_create(team=team, values=values, actor=ACTOR)


def _learning(team: Team, arguments: dict[str, Any]) -> dict[str, Any]:
    """Add consent, a grade, versions of planner and conductor, and their trainings."""
    values = {"learns_from_requests": True}
    training_settings_replace(team=team, values=values, actor=ACTOR)
    run_id = arguments["run_id"]
    StepGrade.objects.create(team=team, run_id=run_id, round=0, step=0, grade=1.0)
    ids = arguments["pool_id"], arguments["evaluation_id"]
    word = f"worker-{MARK}"
    return {
        **make_training(team, *ids, word),
        **make_conductor_training(team, *ids, word),
    }


def _preset(team: Team, owner: User) -> Any:
    """Make a preset with a second version, which the team shares."""
    principal = member_principal(owner, team, Role.OWNER, {})
    values = {"name": f"preset {MARK}", "prompt": f"{MARK} {{{{name}}}}"}
    preset = preset_create(
        principal=principal,
        values={**values, "description": MARK, "system": MARK, "is_shared": True},
    )
    preset_update(
        principal=principal, preset=preset, values={"prompt": f"{MARK} again"}
    )
    return preset.id


def _run(team: Team, owner: User) -> dict[str, Any]:
    run_id = new_id()
    drafts = []
    for recorded in stories.finished():
        record = encode(recorded.event)
        bodies = {
            name: f"{text} {MARK}" if name in PLAIN_TEXTS else text
            for name, text in record.bodies.items()
        }
        draft = EntryDraft(record.action, "run", run_id, ACTOR, record.data, bodies)
        drafts.append(draft)
    record = encode(WAITING)
    texts = {name: text.replace("?", MARK) for name, text in record.bodies.items()}
    drafts.append(EntryDraft(record.action, "run", run_id, ACTOR, record.data, texts))
    with transaction.atomic():
        entries_append(batch=Batch(team.id, tuple(drafts)))
    run = Run.objects.create(
        id=run_id,
        team=team,
        state=RunState.COMPLETED,
        source="playground",
        model="conductor-ultra",
        pool_name=f"pool-{MARK}",
        pool_version=1,
        title=MARK,
        actor_type="user",
        actor_id="1",
        actor_name=MARK,
        created_at=stories.START,
        plan=[],
    )
    PlanApproval.objects.create(
        run_id=run_id,
        team=team,
        round=0,
        state=ApprovalState.WAITING,
        plan_digest=WAITING.plan_digest,
        approvals_needed=1,
        requested_at=stories.START,
        expires_at=timezone.now() + timedelta(hours=1),
    )
    same = {"run_id": run_id, "left": run_id, "right": run_id}
    conversation = conversation_of_run(run, user_actor(owner, {}), {"name": MARK})
    turn = conversation.turns.get()
    same |= {"conversation_id": conversation.id, "turn_id": turn.id}
    same["comparison_id"] = _comparison(team, owner, run)
    same["preset_id"] = _preset(team, owner)
    same["view_id"] = SavedView.objects.create(
        team=team, user=owner, name=f"view {MARK}", query="state=failed", is_shared=True
    ).id
    file = attachment_store(
        team_id=team.id,
        owner=user_actor(owner, {}),
        name=f"{MARK}.txt",
        content=MARK.encode(),
    )
    uses_add(team.id, run_id, [file.id])
    same["attachment_id"] = file.id
    same["review_id"] = ReviewItem.objects.create(
        run_id=run_id,
        team=team,
        reasons=",manual,",
        state=ReviewState.WAITING,
        queued_at=stories.START,
    ).id
    return {**same, "round": 0, "step": 0, "part": "answer", "letter": "A"}


def _comparison(team: Team, owner: User, run: Run) -> uuid.UUID:
    """Make a comparison with one answer, which is enough to be found."""
    made = Comparison.objects.create(
        team=team,
        actor_type="user",
        actor_id=str(owner.id),
        actor_name=MARK,
        is_blind=False,
        has_same_prompt=True,
    )
    made.answers.create(position=0, run_id=run.id, model=run.model)
    return made.id
