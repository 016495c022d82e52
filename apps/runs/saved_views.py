"""Saves views of the list of runs, shares them with the team, deletes them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from apps.accounts.models import User
from apps.accounts.principal import Principal
from apps.accounts.rights import RUN
from apps.core.errors import Conflict, NotAllowed, NotFound
from apps.core.validation import clean_fields, clean_items, clean_switch, clean_text
from apps.runs.models import SavedView
from apps.runs.saved_view_models import VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH

MOST_VIEWS = 50
"""Of one person in a team."""
MOST_HIDDEN = 20
COLUMN_LENGTH = 20
NOT_KEPT = frozenset({"page", "view"})
"""Parts of an address that are no part of a view."""


def saved_view_list(team_id: UUID, user: User | None) -> QuerySet[SavedView]:
    """Return the views that a person sees, by name: their own and shared ones.

    `user` None: an API key, which sees shared ones.
    """
    seen = Q(is_shared=True)
    if user is not None:
        seen |= Q(user=user)
    return SavedView.objects.for_team(team_id).filter(seen).order_by("name", "id")


def access_saved_view(principal: Principal, view_id: UUID) -> SavedView:
    """Return a view that the principal sees. Raises: NotFound."""
    found = saved_view_list(principal.team_id, principal.user).filter(id=view_id)
    view = found.first()
    if view is None:
        raise NotFound(f"there is no view {str(view_id)!r} in this team")
    return view


@transaction.atomic
def saved_view_create(*, principal: Principal, values: dict[str, Any]) -> SavedView:
    """Keep a view under a name; one of the same name and person is replaced.

    Raises: NotAllowed for API keys, and to share it without the right to run;
    InvalidFields, Conflict if there are too many.
    """
    user = principal.user
    if user is None:
        raise NotAllowed("views belong to people; no API key may make one")
    cleaned = clean_fields(
        {"query": "", "hidden": [], "is_shared": False, **values},
        {
            "name": lambda value: clean_text(value, "name", VIEW_NAME_LENGTH),
            "query": _clean_query,
            "hidden": _clean_hidden,
            "is_shared": clean_switch,
        },
    )
    if cleaned["is_shared"]:
        principal.require(RUN)
    # The person's row is locked: two requests at once would pass the limit.
    User.objects.select_for_update().get(id=user.id)
    rows = SavedView.objects.for_team(principal.team_id).filter(user=user)
    name = cleaned.pop("name")
    if rows.exclude(name=name).count() >= MOST_VIEWS:
        raise Conflict(f"you have {MOST_VIEWS} views; delete one first")
    view, _ = rows.update_or_create(
        team_id=principal.team_id, user=user, name=name, defaults=cleaned
    )
    return view


def saved_view_delete(*, principal: Principal, view: SavedView) -> None:
    """Delete a view. Raises: NotAllowed for another member's view."""
    if principal.user is None or view.user_id != principal.user.id:
        raise NotAllowed("only who made a view may delete it")
    view.delete()


def _clean_query(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a query is text, like 'state=failed&sort=cost'")
    pairs = [(n, v) for n, v in parse_qsl(value.lstrip("?")) if n not in NOT_KEPT]
    text = urlencode(pairs)
    if len(text) > VIEW_QUERY_LENGTH:
        raise ValueError(f"a query has at most {VIEW_QUERY_LENGTH:,} characters")
    return text


def _clean_hidden(value: Any) -> list[str]:
    names = [clean_text(each, "column", COLUMN_LENGTH) for each in clean_items(value)]
    if len(names) > MOST_HIDDEN:
        raise ValueError(f"at most {MOST_HIDDEN} columns")
    return list(dict.fromkeys(names))
