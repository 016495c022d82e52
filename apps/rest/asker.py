"""Who asks, for which team: the one value every operation gets to know them by."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property

from apps.accounts.models import Role, Team, User
from apps.accounts.selectors import require_permission
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.errors import NotAllowed, NotAuthenticated
from apps.rest.operation_permissions import Right


@dataclass(frozen=True)
class Asker:
    """A member of a team, or a key of it."""

    team_id: uuid.UUID
    """The team asked for."""
    actor: Actor
    """As the ledger names them."""
    role: str
    """A key acts as an admin in what its scopes allow: it never touches owners."""
    user: User | None
    """None: a key asks."""
    key: KeyHolder | None
    """None: a person asks."""

    @cached_property
    def team(self) -> Team:
        """Return the team asked for; what needs its id alone costs no query.

        Raises: NotAuthenticated if it has been deleted.
        """
        team = Team.objects.filter(id=self.team_id).first()
        if team is None:
            raise NotAuthenticated("the team of this API key has been deleted")
        return team

    @property
    def user_id(self) -> uuid.UUID | None:
        """Return whom a run belongs to: the person, or who made the key."""
        if self.user is not None:
            return self.user.id
        return self.key.created_by_id if self.key else None

    @property
    def key_id(self) -> uuid.UUID | None:
        """Return the id of the key that asks."""
        return self.key.key_id if self.key else None

    @property
    def allowed_tiers(self) -> frozenset[str]:
        """Return the tiers the asker is held to. Empty: all."""
        return self.key.allowed_tiers if self.key else frozenset()

    @property
    def allowed_workers(self) -> frozenset[str]:
        """Return the workers the asker is held to, by name. Empty: all."""
        return self.key.allowed_workers if self.key else frozenset()

    @property
    def grantable(self) -> KeyHolder | None:
        """Return the key that bounds what the asker can give a key. None: nothing."""
        return self.key

    def require(self, right: Right) -> None:
        """Raise NotAllowed, naming what is missing, unless the asker has `right`."""
        if self.key is None:
            require_permission(self.role, right.permission)
        elif not right.scopes:
            raise NotAllowed("no API key may do this; sign in and do it yourself")
        elif self.key.scopes.isdisjoint(right.scopes):
            wanted = " or ".join(repr(str(scope)) for scope in right.scopes[:2])
            raise NotAllowed(f"this API key lacks the scope {wanted}")


def member_asker(user: User, team: Team, role: str) -> Asker:
    """Return a signed-in person as one of the team's members."""
    actor = Actor("user", str(user.id), user.get_full_name())
    asker = Asker(team.id, actor, role, user, None)
    asker.__dict__["team"] = team  # known already
    return asker


def key_asker(holder: KeyHolder) -> Asker:
    """Return a program that sent a key of a team."""
    actor = Actor("api_key", str(holder.key_id), holder.display)
    return Asker(holder.team_id, actor, Role.ADMIN, None, holder)
