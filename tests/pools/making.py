"""Values as pages and programs send them, and rows made of them."""

from __future__ import annotations

from typing import Any

from apps.accounts.models import Team
from apps.audit.selectors import entry_list
from apps.audit.types import EntryView
from apps.pools.models import Conductor, Credential, Pool, Worker
from apps.pools.services import (
    conductor_create,
    credential_create,
    pool_create,
    worker_create,
)
from tests.factories import ACTOR

URL = "https://api.example.com/v1"
CANARY = "sk-canary-93d1f07c55aa4b10"


def worker_of(**changes: Any) -> dict[str, Any]:
    return {"name": "strong", "base_url": URL, "model": "big-1", **changes}


def make_worker(team: Team, **changes: Any) -> Worker:
    return worker_create(team=team, values=worker_of(**changes), actor=ACTOR)


def make_conductor(team: Team, **changes: Any) -> Conductor:
    values = {"name": "planner", "base_url": URL, "model": "plan-1", **changes}
    return conductor_create(team=team, values=values, actor=ACTOR)


def make_credential(team: Team, **changes: Any) -> Credential:
    values = {"name": "provider", "base_url": URL, "secret": CANARY, **changes}
    return credential_create(team=team, values=values, actor=ACTOR)


def make_pool(team: Team, *workers: Worker, **changes: Any) -> Pool:
    rows = workers or (make_worker(team),)
    values = {
        "name": "main",
        "worker_ids": [str(row.id) for row in rows],
        "fallback_id": str(rows[0].id),
        **changes,
    }
    return pool_create(team=team, values=values, actor=ACTOR)


def entries(team: Team) -> list[EntryView]:
    return entry_list(team.id)


def actions(team: Team) -> list[str]:
    return [entry.action for entry in entries(team)]
