"""Fills the database for `make demo`: a team with a pool, rules, two people and a key.

Safe to repeat: what is there stays as people left it, but for the address of the
simulator; the demo's file is written again.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction

from apps.accounts.keys import key_parse
from apps.accounts.models import ApiKey, Role, Team, User
from apps.accounts.services import api_key_issue, member_add, team_create
from apps.evaluation.models import SuiteVersion
from apps.evaluation.services import suite_import
from apps.evaluation.suites.files import tasks_read
from apps.governance.reviews.reads import review_settings
from apps.governance.selectors import policy_newest
from apps.governance.services import policy_replace, review_settings_replace
from apps.playground.demo.measured import ACTOR, measured_import
from apps.playground.demo.presets import presets_make
from apps.pools.pool_file import document_parse
from apps.pools.selectors import conductor_list, pool_list, worker_list
from apps.pools.services import conductor_update, pool_import, worker_update

TEAM_SLUG = "demo"
EMAIL = "demo@conductor.example"
REVIEWER_EMAIL = "reviewer@conductor.example"
"""Of the person who approves plans and reviews runs: nobody approves their own."""
POOL_FILE = Path("docs/pools/demo.yaml")
SUITE, SUITE_FILE = "Simulated benchmark", Path("docs/suites/simulated.jsonl")
SIMULATOR_URL = "http://127.0.0.1:8100/v1"
"""As the pool file has it; the demo may run its simulator elsewhere."""
REVIEWED = {
    "failures": True,
    "policy_hits": True,
    "thumbs_down": True,
    "sample_percent": 5,
    "rubric": [
        {"name": "Correct"},
        {"name": "Complete"},
        {"name": "Safe", "kind": "pass_fail"},
    ],
}
"""What is queued for review, and how it is judged."""
POLICY = {
    "rules": [
        {
            "name": "Project Falcon is secret",
            "conditions": {"words": ["Project Falcon"]},
            "effect": {"kind": "deny"},
        }
    ]
}


@dataclass(frozen=True, slots=True)
class DemoAccess:
    """How to get in; written to `var/demo.json`."""

    url: str
    email: str
    reviewer_email: str
    password: str
    """Of both people."""
    api_key: str
    simulator_url: str
    """Where the models are; the next start may have them elsewhere."""
    team_id: str


def demo_prepare(
    *, url: str, simulator_url: str, is_trained: bool = True
) -> DemoAccess:
    """Make or complete the demo's team and return how to get in.

    `is_trained` False: its pool does not get the planner that ships with the demo.
    """
    path = settings.VAR_DIR / "demo.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    with transaction.atomic():
        team = Team.objects.filter(slug=TEAM_SLUG).first()
        team = team or team_create(name="Demo", slug=TEAM_SLUG, actor=ACTOR)
        _follow(team, known.get("simulator_url", SIMULATOR_URL), simulator_url)
        _pool(team, simulator_url)
        user, password = _user(team, known.get("password", ""))
        _reviewer(team, password)
        api_key = _key(team, user, known.get("api_key", ""))
        _govern(team)
        version = _suite(team)
        if is_trained:
            measured_import(team, version)
        presets_make(team, user)
    access = DemoAccess(
        url, EMAIL, REVIEWER_EMAIL, password, api_key, simulator_url, str(team.id)
    )
    path.write_text(json.dumps(asdict(access), indent=2) + "\n", encoding="utf-8")
    path.chmod(0o600)
    return access


def _pool(team: Team, simulator_url: str) -> None:
    """Make the pool, unless the team has it."""
    text = (settings.BASE_DIR / POOL_FILE).read_text(encoding="utf-8")
    document = document_parse(text.replace(SIMULATOR_URL, simulator_url))
    if not pool_list(team.id).filter(name=document.pool.name).exists():
        pool_import(team=team, document=document, actor=ACTOR, environ={})


def _follow(team: Team, before: str, now: str) -> None:
    """Give the models of the simulator its address."""
    if before == now:
        return
    values = {"base_url": now}
    for worker in worker_list(team.id).filter(base_url=before):
        worker_update(worker=worker, values=values, actor=ACTOR)
    for conductor in conductor_list(team.id).filter(base_url=before):
        conductor_update(conductor=conductor, values=values, actor=ACTOR)


def _suite(team: Team) -> SuiteVersion:
    """Store the tasks of the demo's evaluations; equal ones make no new version."""
    content = (settings.BASE_DIR / SUITE_FILE).read_bytes()
    tasks = tasks_read(content, SUITE_FILE.name)
    return suite_import(
        team=team, name=SUITE, tasks=tasks, actor=ACTOR, is_simulated=True
    )


def _user(team: Team, password: str) -> tuple[User, str]:
    user = User.objects.filter(email=EMAIL).first()
    if user is None:
        user = User.objects.create_user(EMAIL, name="Demo")
        member_add(team=team, user=user, role=Role.OWNER, actor=ACTOR)
    if not password or not user.check_password(password):
        password = secrets.token_urlsafe(9)
        user.set_password(password)
        user.save(update_fields=["password"])
    return user, password


def _reviewer(team: Team, password: str) -> None:
    user = User.objects.filter(email=REVIEWER_EMAIL).first()
    if user is None:
        user = User.objects.create_user(REVIEWER_EMAIL, name="Reviewer")
        member_add(team=team, user=user, role=Role.REVIEWER, actor=ACTOR)
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])


def _govern(team: Team) -> None:
    """Set rules for runs and for reviews, unless somebody has."""
    if policy_newest(team.id) is None:
        policy_replace(team=team, values=POLICY, actor=ACTOR)
    if not review_settings(team.id).version:
        review_settings_replace(team=team, values=REVIEWED, actor=ACTOR)


def _key(team: Team, user: User, raw: str) -> str:
    parsed = key_parse(raw)
    if parsed and ApiKey.objects.for_team(team.id).filter(prefix=parsed.lookup):
        return raw
    _, secret = api_key_issue(team=team, name="Demo", actor=ACTOR, created_by=user)
    return secret
