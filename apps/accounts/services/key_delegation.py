"""Bounds of what a key may do with keys: pass on only what it has, loosen nothing.

A person may do both, by role.

Several keys may still together have a higher rate than their maker: what they spend is
bound by budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import Membership
from apps.accounts.selectors import role_covers
from apps.accounts.types import KeyHolder
from apps.core.data_classes import DATA_CLASSES
from apps.core.errors import NotAllowed

Bounds = KeyHolder | Set[str] | None
"""The key that asks, or only its scopes; None: a person asks, and nothing is bound."""
_LISTS = ("allowed_tiers", "allowed_workers")
RATES = ("requests_per_minute", "tokens_per_minute")
"""Of a key, and of its team for all keys together."""


def require_within(values: Mapping[str, Any], within: Bounds) -> None:
    """Raise NotAllowed if some of a key's settings reach beyond the asking key."""
    if within is None:
        return
    scopes = within.scopes if isinstance(within, KeyHolder) else within
    beyond = set(values.get("scopes", ())) - scopes
    if beyond:
        raise NotAllowed(f"this API key lacks the scope {min(beyond)!r} itself")
    if isinstance(within, KeyHolder):
        _require_lists(values, within)
        _require_rates(values, within)
        _require_data_class(values, within)


def last_end(within: Bounds) -> datetime | None:
    """Return when a key that `within` makes must have ended; None: no such bound."""
    return within.expires_at if isinstance(within, KeyHolder) else None


def require_ends_within(expires_at: datetime, within: Bounds) -> None:
    """Raise NotAllowed if a new key would outlive the key that makes it."""
    last = last_end(within)
    if last is not None and expires_at > last:
        raise NotAllowed(
            f"this API key ends on {last.date().isoformat()}, so it cannot make one "
            f"that lives longer"
        )


def require_rates_kept(
    before: Mapping[str, Any], after: Mapping[str, Any], within: KeyHolder | None
) -> None:
    """Raise NotAllowed if a key would raise or lift a rate of its team.

    Both mappings hold the same rates; None is no limit.
    """
    if within is None:
        return
    for field, wanted in after.items():
        present = before[field]
        if present is not None and (wanted is None or wanted > present):
            raise NotAllowed(
                f"{field} of the team binds this API key, so it cannot raise or lift "
                f"it; sign in and do it yourself"
            )


def require_role_within(role: str, within: KeyHolder | None, team_id: UUID) -> None:
    """Raise NotAllowed if a key would give a role that reaches beyond its maker's.

    The maker's present role counts, so a key never gives back what its maker lost.
    """
    if within is None or within.created_by_id is None:
        return
    makers = Membership.objects.for_team(team_id).filter(user_id=within.created_by_id)
    own = makers.values_list("role", flat=True).first()
    if own is not None and not role_covers(own, role):
        raise NotAllowed(
            f"the maker of this API key is {own!r} in this team, so it cannot give the "
            f"role {role!r}; sign in and do it yourself"
        )


def _require_lists(values: Mapping[str, Any], holder: KeyHolder) -> None:
    for field in _LISTS:
        own: frozenset[str] = getattr(holder, field)
        wanted = values.get(field, own)
        # An empty list means all, which is more than some.
        if own and (not wanted or not own.issuperset(wanted)):
            raise NotAllowed(
                f"the key that asks is held to {field} {sorted(own)!r} itself"
            )


def _require_data_class(values: Mapping[str, Any], holder: KeyHolder) -> None:
    own, wanted = holder.data_class, values.get("data_class", holder.data_class)
    if own and (not wanted or DATA_CLASSES.index(wanted) < DATA_CLASSES.index(own)):
        raise NotAllowed(f"the key that asks has the data class {own!r} itself")


def _require_rates(values: Mapping[str, Any], holder: KeyHolder) -> None:
    for field in RATES:
        own: int | None = getattr(holder, field)
        wanted = values.get(field, own)
        if own is not None and (wanted is None or wanted > own):
            raise NotAllowed(f"the key that asks has {field} of {own} itself")
