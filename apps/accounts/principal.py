"""The member or API key that a request acts as, made once by each interface."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from apps.accounts.models import Role, Team, User
from apps.accounts.rights import Right
from apps.accounts.selectors import require_permission
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.errors import NotAllowed, NotAuthenticated


@dataclass(frozen=True)
class Principal:
    """An authenticated member or API key of one team, in one request."""

    team_id: uuid.UUID
    actor: Actor
    """The principal as the ledger names it, with the context of the request."""
    role: str
    """Of a member in the team. A key acts as an admin within its scopes."""
    user: User | None
    """None: an API key acts."""
    key: KeyHolder | None
    """None: a signed-in person acts."""

    @cached_property
    def team(self) -> Team:
        """Return the team, read once. Raises: NotAuthenticated if it is deleted."""
        team = Team.objects.filter(id=self.team_id).first()
        if team is None:
            raise NotAuthenticated("the team of this API key has been deleted")
        return team

    @property
    def user_id(self) -> uuid.UUID | None:
        """Return the person that runs belong to; for a key the one who made it."""
        if self.user is not None:
            return self.user.id
        return self.key.created_by_id if self.key else None

    @property
    def key_id(self) -> uuid.UUID | None:
        """Return the id of the API key. None: a signed-in person acts."""
        return self.key.key_id if self.key else None

    def require(self, right: Right) -> None:
        """Raise NotAllowed, naming what is missing, unless the principal has `right`.

        A person has it by their role, a key by any one of its scopes.
        """
        if self.key is None:
            require_permission(self.role, right.permission)
        elif not right.scopes:
            raise NotAllowed("no API key may do this; sign in and do it yourself")
        elif self.key.scopes.isdisjoint(right.scopes):
            wanted = " or ".join(repr(str(scope)) for scope in right.scopes[:2])
            raise NotAllowed(f"this API key lacks the scope {wanted}")


@dataclass(frozen=True)
class KeyPrincipal(Principal):
    """A program that sent an API key of the team."""

    user: None
    key: KeyHolder


def user_actor(user: User, context: Mapping[str, str]) -> Actor:
    """Return a signed-in person as the ledger names them, with their request."""
    return Actor("user", str(user.id), user.get_full_name(), context=context)


def member_principal(
    user: User, team: Team, role: str, context: Mapping[str, str]
) -> Principal:
    """Return a signed-in person as a member of a team."""
    principal = Principal(team.id, user_actor(user, context), role, user, None)
    principal.__dict__["team"] = team  # known already
    return principal


def key_principal(key: KeyHolder, context: Mapping[str, str]) -> KeyPrincipal:
    """Return the API key that a request was sent with."""
    actor = Actor("api_key", str(key.key_id), key.display, context=context)
    return KeyPrincipal(key.team_id, actor, Role.ADMIN, None, key)
