"""What a key that makes or changes keys can hand on: nothing that it lacks itself.

Several keys may still together have a higher rate than their maker: what they spend is
bound by budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from apps.accounts.types import KeyHolder
from apps.core.errors import NotAllowed

Bounds = KeyHolder | Set[str] | None
"""The key that asks, or only its scopes; None: a person asks, and nothing is bound."""
_LISTS = ("allowed_tiers", "allowed_workers")
_RATES = ("requests_per_minute", "tokens_per_minute")


def require_within(values: Mapping[str, Any], within: Bounds) -> None:
    """Raise NotAllowed if some of a key's settings reach beyond the asking key."""
    if within is None:
        return
    scopes = within.scopes if isinstance(within, KeyHolder) else within
    beyond = set(values.get("scopes", ())) - scopes
    if beyond:
        raise NotAllowed(f"the key that asks lacks the scope {min(beyond)!r} itself")
    if isinstance(within, KeyHolder):
        _require_lists(values, within)
        _require_rates(values, within)


def _require_lists(values: Mapping[str, Any], holder: KeyHolder) -> None:
    for field in _LISTS:
        own: frozenset[str] = getattr(holder, field)
        wanted = values.get(field, own)
        # An empty list means all, which is more than some.
        if own and (not wanted or not own.issuperset(wanted)):
            raise NotAllowed(
                f"the key that asks is held to {field} {sorted(own)!r} itself"
            )


def _require_rates(values: Mapping[str, Any], holder: KeyHolder) -> None:
    for field in _RATES:
        own: int | None = getattr(holder, field)
        wanted = values.get(field, own)
        if own is not None and (wanted is None or wanted > own):
            raise NotAllowed(f"the key that asks has {field} of {own} itself")
