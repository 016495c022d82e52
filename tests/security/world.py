"""Two teams: one that owns one of everything, each marked, and one that is curious."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.apps import apps
from django.test import Client

from apps.accounts.models import Role, Scope, Team, User
from tests.factories import (
    IssuedKey,
    MembershipFactory,
    TeamFactory,
    UserFactory,
    issue_key,
)

MARK = "marked-7f3a"
"""In every name and text of the team; no stranger's answer may hold it."""
UNTOUCHED = frozenset({"last_used_at"})
"""Columns that reading alone may change."""


@dataclass
class World:
    """A team with one of everything."""

    team: Team
    people: dict[str, User]
    """By role; `former` was a member once, `stranger` owns another team."""
    keys: dict[str, IssuedKey]
    """`own` has every scope, `revoked` had, `foreign` is the other team's."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """What stands for each argument of an address."""

    def client(self, who: str) -> Client:
        """Return a browser of somebody; `anonymous` is not signed in."""
        client = Client(raise_request_exception=False)
        if who != "anonymous":
            client.force_login(self.people[who])
        return client

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return everything the team owns, but for what reading may change."""
        return {
            model._meta.label: [
                {k: v for k, v in row.items() if k not in UNTOUCHED}
                for row in _owned(model, self.team.id)
            ]
            for model in apps.get_models()
            if _is_owned(model)
        }


def people_of(team: Team) -> dict[str, User]:
    """Return a member for each role, somebody who has left, and a stranger."""
    people = {}
    for role in Role.values:
        user = UserFactory.create(email=f"{role}@example.org", name=f"{role} {MARK}")
        MembershipFactory.create(team=team, user=user, role=role)
        people[role] = user
    people["former"] = UserFactory.create(email="former@example.org")
    stranger = UserFactory.create(email="stranger@example.org")
    MembershipFactory.create(team=TeamFactory.create(), user=stranger, role=Role.OWNER)
    return {**people, "stranger": stranger}


def keys_of(team: Team, people: dict[str, User]) -> dict[str, IssuedKey]:
    """Return a live and a revoked key of the team, and one of the stranger's team."""
    from apps.accounts.services import api_key_revoke
    from tests.factories import ACTOR

    scopes = tuple(Scope)
    owner = people[Role.OWNER]
    revoked = issue_key(team, name=f"old {MARK}", scopes=scopes, created_by=owner)
    api_key_revoke(api_key=revoked.row, actor=ACTOR)
    foreign = people["stranger"].teams.get()
    return {
        "own": issue_key(team, name=f"key {MARK}", scopes=scopes, created_by=owner),
        "revoked": revoked,
        "foreign": issue_key(foreign, name="theirs", scopes=scopes),
    }


def _is_owned(model: Any) -> bool:
    names = {f.name for f in model._meta.concrete_fields}
    return bool(names & {"team", "team_id"})


def _owned(model: Any, team_id: UUID) -> list[dict[str, Any]]:
    manager = model._default_manager
    rows = manager.for_team(team_id) if hasattr(manager, "for_team") else manager
    found = rows.filter(team_id=team_id).order_by("pk").values()
    return list(found)
