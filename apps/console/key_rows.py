"""API keys as their list shows them: state, budgets, and how they are first used."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import get_language, gettext, gettext_noop

from apps.accounts.models import TIERS, ApiKey, Delivery, ProgressForm, Scope
from apps.console.budget_rows import BudgetRow
from apps.pools.selectors import pool_list

DELIVERY_WORDS = {
    Delivery.LIVE.value: gettext_noop("live"),
    Delivery.VERIFIED.value: gettext_noop("verified"),
}
PROGRESS_WORDS = {
    ProgressForm.REASONING.value: gettext_noop("as reasoning"),
    ProgressForm.EVENTS.value: gettext_noop("events"),
    ProgressForm.OFF.value: gettext_noop("off"),
}
SOON = timedelta(days=7)
"""A key that ends within this time is pointed out."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key with what a list says about it."""

    api_key: ApiKey
    state: str
    """live, expiring, expired or revoked."""
    is_live: bool
    budgets: Sequence[BudgetRow]

    @property
    def delivery(self) -> str:
        """Return how its answers go out, in a word."""
        return gettext(DELIVERY_WORDS[self.api_key.delivery])

    @property
    def progress(self) -> str:
        """Return how its streams tell their progress, in a word."""
        return gettext(PROGRESS_WORDS[self.api_key.progress])

    @property
    def rights(self) -> list[str]:
        """Return what the key may do, in words."""
        words = [gettext(str(Scope(scope).label)) for scope in self.api_key.scopes]
        is_english = get_language() == "en"
        return [word[:1].lower() + word[1:] if is_english else word for word in words]


def key_rows(
    keys: Iterable[ApiKey],
    budgets: Mapping[uuid.UUID, Sequence[BudgetRow]],
    now: datetime,
) -> list[KeyRow]:
    """Return the rows of a list of keys; `budgets` are those of keys, by key."""
    return [
        KeyRow(key, _state(key, now), key.is_live(now), budgets.get(key.id, ()))
        for key in keys
    ]


def sample_model(api_key: ApiKey) -> str | None:
    """Return a model the key may ask, of a pool that is there; None if it may ask none.

    Of a team without a pool that fits it is the name that a default pool would give it.
    """
    if Scope.RUN not in api_key.scopes:
        return None
    allowed = api_key.allowed_tiers or TIERS
    pools = pool_list(api_key.team_id).prefetch_related("tiers")
    for pool in sorted(pools, key=lambda each: not each.is_default):
        there = {tier.name for tier in pool.tiers.all()}
        name = next((name for name in allowed if name in there), None)
        if name is not None:
            return f"conductor-{name}" if pool.is_default else f"{pool.name}/{name}"
    return f"conductor-{allowed[0]}"


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if now >= key.expires_at:
        return "expired"
    return "expiring" if key.expires_at - now < SOON else "live"
