"""Changes to budgets, and the sweep that frees what dead processes had set aside.

Each change and its ledger entry commit together. After the commit this process forgets
what it remembered of the team's budgets; others do within `CACHE_SECONDS`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from apps.accounts.models import ApiKey, Membership, Team, User
from apps.accounts.services import api_key_issue
from apps.accounts.types import KeyHolder
from apps.audit.services import entries_append
from apps.audit.types import SERVICE, Actor, Batch, EntryDraft
from apps.budgets.models import Budget, BudgetKind, Period, Reservation, Spend
from apps.budgets.selectors import budgets_binding, standings_forget, target_label
from apps.core.errors import InvalidFields, NotAllowed, NotFound
from apps.core.money import MICROS, micros_of_usd, usd_text

MAX_LIMIT_MICROS = 1_000_000_000 * MICROS
"""A billion dollars: more is a slip of the pen."""
STALE_AFTER = timedelta(minutes=4)
"""A reservation untouched for so long belongs to a process that is gone."""
TOUCHED_AT_ONCE = 500
"""Runs in one statement; databases bound the number of parameters."""
RUNS_NAMED = 100
"""Runs that the entry of a sweep names; keeps it small after a big crash."""
FIELDS = frozenset({"kind", "user_id", "api_key_id", "period", "limit_usd"})


def budget_create(*, team: Team, values: Mapping[str, Any], actor: Actor) -> Budget:
    """Set a budget: `kind`, `user_id` or `api_key_id` as the kind needs, `period`,
    `limit_usd` as decimal text.

    Raises: InvalidFields.
    """
    faults = _unknown(values)
    kind = _choice(values, "kind", BudgetKind.values, faults)
    period = _choice(values, "period", Period.values, faults)
    limit = _limit(values.get("limit_usd"), faults)
    target = _target(team, kind, values, faults)
    if faults:
        raise InvalidFields(faults)
    return _create(
        Budget(team=team, kind=kind, period=period, limit_micros=limit, **target), actor
    )


@transaction.atomic
def api_key_issue_with_budget(
    *,
    team: Team,
    actor: Actor,
    created_by: User | None,
    settings: Mapping[str, Any],
    budget: Mapping[str, Any] | None,
) -> tuple[ApiKey, str]:
    """Create an API key and the budget that caps it; return its row and the key.

    `settings` are those of `api_key_issue`; `budget` has a period and a limit in
    dollars. Raises: InvalidFields, NotAllowed, with nothing saved.
    """
    api_key, secret = api_key_issue(
        team=team, actor=actor, created_by=created_by, **settings
    )
    if budget is not None:
        values = {**budget, "kind": BudgetKind.KEY.value, "api_key_id": str(api_key.id)}
        budget_create(team=team, values=values, actor=actor)
    return api_key, secret


@transaction.atomic
def _create(budget: Budget, actor: Actor) -> Budget:
    try:
        with transaction.atomic():
            budget.save(force_insert=True)
    except IntegrityError as exc:
        taken = "there is a budget of this kind and period already; change its limit"
        raise InvalidFields({"period": [taken]}) from exc
    _record(budget, "budget.created", actor, _facts(budget))
    return budget


@transaction.atomic
def budget_update(
    *,
    budget: Budget,
    values: Mapping[str, Any],
    actor: Actor,
    within: KeyHolder | None = None,
) -> Budget:
    """Set another limit. For whom and how long a budget is stays as it is.

    `within` is the key that asks; None if a person does. It raises no budget that binds
    it. Raises: InvalidFields; NotAllowed; NotFound if it was lifted meanwhile.
    """
    faults = _unknown(values)
    for name in ("kind", "period", "user_id", "api_key_id"):
        if name in values and _text(values[name]) != _text(getattr(budget, name)):
            faults[name] = ["this cannot be changed; delete the budget, set another"]
    limit = budget.limit_micros
    if "limit_usd" in values:
        limit = _limit(values["limit_usd"], faults)
    if faults:
        raise InvalidFields(faults)
    rows = Budget.objects.for_team(budget.team_id).filter(pk=budget.pk)
    row = rows.select_for_update().first()
    if row is None:
        raise NotFound(f"there is no budget {str(budget.id)!r} in this team")
    before = row.limit_micros
    if limit > before:
        _require_unbound(within, budget)
    if limit != before:
        rows.update(limit_micros=limit)
        budget.limit_micros = limit
        change = {
            "before": {"limit_usd": usd_text(before)},
            "after": {"limit_usd": usd_text(limit)},
        }
        _record(budget, "budget.updated", actor, {**_facts(budget), **change})
    return budget


@transaction.atomic
def budget_delete(
    *, budget: Budget, actor: Actor, within: KeyHolder | None = None
) -> None:
    """Lift a budget at once, for runs in progress too.

    `within` is the key that asks; None if a person does. It lifts no budget that binds
    it. Raises: NotAllowed.
    """
    _require_unbound(within, budget)
    facts = _facts(budget)
    row = Budget.objects.for_team(budget.team_id).filter(pk=budget.pk)
    if row.delete()[0]:
        _record(budget, "budget.deleted", actor, facts)


# --- reservations --------------------------------------------------------------------


def reservations_touch(run_ids: list[uuid.UUID], *, now: datetime | None = None) -> int:
    """Say that these runs are still executing; return how many rows that were."""
    now = now or timezone.now()
    count = 0
    for start in range(0, len(run_ids), TOUCHED_AT_ONCE):
        rows = Reservation.objects.across_teams().filter(
            run_id__in=run_ids[start : start + TOUCHED_AT_ONCE]
        )
        count += rows.update(touched_at=now)
    return count


@transaction.atomic
def reservation_extend(*, team_id: uuid.UUID, run_id: uuid.UUID, micros: int) -> bool:
    """Set `micros` in all aside for a run in progress, in every budget it counts for.

    Returns False, with nothing changed, if one of them has not so much left, or nothing
    is set aside for the run any more.
    """
    # Spends before reservations, as everywhere; budgets in the order of runs' holds.
    spends = Spend.objects.for_team(team_id).filter(reservations__run_id=run_id)
    locked = list(
        spends.select_for_update(of=("self",))
        .select_related("budget")
        .order_by("budget_id")
    )
    rows = Reservation.objects.for_team(team_id).filter(run_id=run_id)
    held = dict(rows.values_list("spend_id", "micros"))
    short = [(spend, micros - held[spend.pk]) for spend in locked]
    short = [(spend, missing) for spend, missing in short if missing > 0]
    for spend, missing in short:
        taken = spend.spent_micros + spend.reserved_micros
        if taken + missing > spend.budget.limit_micros:
            return False
    for spend, missing in short:
        Spend.objects.for_team(team_id).filter(pk=spend.pk).update(
            reserved_micros=F("reserved_micros") + missing
        )
        rows.filter(spend_id=spend.pk).update(micros=micros)
    transaction.on_commit(lambda: standings_forget(team_id))
    return bool(locked)


def reservations_sweep(*, now: datetime | None = None) -> int:
    """Free what runs have set aside whose process is gone; return how many rows.

    The rows stay, empty: when such a run ends after all, its cost still counts.
    """
    stale = (now or timezone.now()) - STALE_AFTER
    rows = Reservation.objects.across_teams().filter(micros__gt=0, touched_at__lt=stale)
    places = rows.values_list("team_id", "spend_id").distinct()
    return sum(_free(*place, stale) for place in places)


@transaction.atomic
def _free(team_id: uuid.UUID, spend_id: uuid.UUID, stale: datetime) -> int:
    # The spend first: a run that ends locks it first too, so each sees what the other
    # did to the reservation.
    spends = Spend.objects.for_team(team_id).filter(pk=spend_id)
    spend = spends.select_for_update().first()
    if spend is None:
        return 0
    rows = Reservation.objects.for_team(team_id).filter(
        spend_id=spend_id, micros__gt=0, touched_at__lt=stale
    )
    freed = list(rows.select_for_update())
    if not freed:
        return 0
    micros = sum(row.micros for row in freed)
    rows.filter(pk__in=[row.pk for row in freed]).update(micros=0)
    spends.update(reserved_micros=F("reserved_micros") - micros)
    draft = EntryDraft(
        "budget.reservations_freed",
        "budget",
        spend.budget_id,
        SERVICE,
        {
            "freed_usd": usd_text(micros),
            "count": len(freed),
            "runs": sorted(str(row.run_id) for row in freed)[:RUNS_NAMED],
        },
    )
    entries_append(batch=Batch(team_id, (draft,)))
    transaction.on_commit(lambda: standings_forget(team_id))
    return len(freed)


# --- parts ---------------------------------------------------------------------------


def _require_unbound(within: KeyHolder | None, budget: Budget) -> None:
    """Raise NotAllowed if the budget binds the key that asks."""
    if within is None:
        return
    binding = budgets_binding(budget.team_id, within.created_by_id, within.key_id)
    if any(status.budget.id == budget.id for status in binding):
        raise NotAllowed(
            "this budget binds this API key, so the key cannot raise or lift it; sign "
            "in and do it yourself"
        )


def _unknown(values: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        str(name): ["there is no such field"] for name in values if name not in FIELDS
    }


def _text(value: object) -> str:
    return "" if value is None else str(value).lower()


def _choice(
    values: Mapping[str, Any],
    name: str,
    choices: list[str],
    faults: dict[str, list[str]],
) -> str:
    value = values.get(name)
    if isinstance(value, str) and value in choices:
        return value
    faults[name] = [f"expected one of {', '.join(choices)}"]
    return ""


def _limit(value: object, faults: dict[str, list[str]]) -> int:
    micros = micros_of_usd(value) if isinstance(value, str) else None
    if micros is None:
        faults["limit_usd"] = ["expected dollars as text, like 25.00"]
        return 0
    if not 0 < micros <= MAX_LIMIT_MICROS:
        faults["limit_usd"] = ["expected more than nothing and at most a billion"]
    return micros


def _target(
    team: Team, kind: str, values: Mapping[str, Any], faults: dict[str, list[str]]
) -> dict[str, uuid.UUID | None]:
    """Return the columns that say whom the budget is for."""
    columns: dict[str, uuid.UUID | None] = {}
    for name, of in (("user_id", BudgetKind.MEMBER), ("api_key_id", BudgetKind.KEY)):
        wanted = values.get(name) or None
        columns[name] = found = _as_uuid(wanted)
        if kind == of:
            if found is None or not _exists(team, kind, found):
                faults[name] = [f"this team has no such {_NAMES[kind]}"]
        elif wanted is not None and kind:
            faults[name] = [f"a budget of kind {kind!r} has none"]
    return columns


_NAMES = {BudgetKind.MEMBER.value: "member", BudgetKind.KEY.value: "API key"}


def _exists(team: Team, kind: str, target_id: uuid.UUID) -> bool:
    if kind == BudgetKind.MEMBER:
        return Membership.objects.for_team(team.id).filter(user_id=target_id).exists()
    keys = ApiKey.objects.for_team(team.id).filter(id=target_id, revoked_at=None)
    return keys.exists()


def _as_uuid(value: object) -> uuid.UUID | None:
    try:
        return uuid.UUID(str(value)) if value is not None else None
    except ValueError:
        return None


def _facts(budget: Budget) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "kind": budget.kind,
        "target": target_label(budget),
        "period": budget.period,
        "limit_usd": usd_text(budget.limit_micros),
    }
    target = budget.user_id or budget.api_key_id
    return {**facts, "target_id": str(target)} if target else facts


def _record(budget: Budget, action: str, actor: Actor, data: Mapping[str, Any]) -> None:
    team_id = budget.team_id
    draft = EntryDraft(action, "budget", budget.id, actor, dict(data))
    entries_append(batch=Batch(team_id, (draft,)))
    transaction.on_commit(lambda: standings_forget(team_id))
