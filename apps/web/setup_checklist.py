"""What a team still lacks until its first planned answer, for those who can change it.

Every part is read from the rows themselves, so the list is right whoever did the work,
on a page or over REST.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import Permission
from apps.accounts.selectors import role_allows
from apps.pools.models import (
    Conductor,
    Pool,
    TierName,
    TierPlanner,
    Worker,
    WorkerKind,
)
from apps.pools.selectors import (
    conductor_list,
    credential_list,
    last_test,
    pool_list,
    worker_list,
)
from apps.runs.selectors import has_planned_answer
from apps.web.team_access import TeamRequest

PLANNER_FIELD = f"id_tiers.{TierName.ULTRA.value}.planner"
"""The element of a pool's page at which its ultra tier is made to plan."""
ULTRA_FIELD = "id_has_ultra"
"""The one at which it gets that tier."""


@dataclass(frozen=True, slots=True)
class SetupItem:
    """One thing that a team needs."""

    label: str
    is_done: bool
    url: str
    """Where it is done."""


def setup_checklist(request: TeamRequest) -> list[SetupItem]:
    """Return what a team needs; empty: it has planned, or this member dismissed it.

    Also empty for members who may not change pools.
    """
    membership = request.membership
    may_change = role_allows(membership.role, Permission.MANAGE_POOLS)
    if membership.hides_setup or not may_change:
        return []
    team_id = request.team.id
    return [] if has_planned_answer(team_id) else _items(team_id)


def _items(team_id: uuid.UUID) -> list[SetupItem]:
    chat = worker_list(team_id).filter(is_enabled=True, kind=WorkerKind.CHAT)
    workers = list(chat.prefetch_related(None))
    conductors = list(conductor_list(team_id).prefetch_related(None))
    pool = pool_list(team_id).filter(is_default=True).first()
    setup, models = reverse("console:setup"), reverse("console:setup_models")
    first = f"{reverse('playground:index')}?sample=1"
    return [
        SetupItem(
            _("Connect a provider"),
            bool(workers) or credential_list(team_id).exists(),
            setup,
        ),
        SetupItem(
            _("Test a worker"), _any_passed(workers), models if workers else setup
        ),
        SetupItem(_("Test a conductor"), _any_passed(conductors), f"{models}#plans"),
        SetupItem(
            _("Set up a pool whose ultra tier plans"), _plans(pool), _pool_url(pool)
        ),
        SetupItem(_("Get your first planned answer"), False, first),
    ]


def _any_passed(models: Sequence[Worker | Conductor]) -> bool:
    tests = (last_test(each) for each in models)
    return any(test is not None and test.ok for test in tests)


def _plans(pool: Pool | None) -> bool:
    if pool is None or pool.conductor_id is None:
        return False
    return _ultra_planner(pool) not in (None, TierPlanner.SINGLE_WORKER)


def _ultra_planner(pool: Pool) -> str | None:
    tiers = {tier.name: tier.planner for tier in pool.tiers.all()}
    return tiers.get(TierName.ULTRA)


def _pool_url(pool: Pool | None) -> str:
    if pool is None or pool.conductor_id is None:
        return f"{reverse('console:setup_models')}#use"
    field = ULTRA_FIELD if _ultra_planner(pool) is None else PLANNER_FIELD
    return f"{reverse('console:pool', args=[pool.id])}#{field}"
