"""Who asks, for which team: the one value every operation gets to know them by."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from apps.accounts.models import Role, Team, User
from apps.accounts.selectors import require_permission
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.errors import NotAllowed
from apps.rest.rights import Right


@dataclass(frozen=True, slots=True)
class Asker:
    """A member of a team, or a key of it."""

    team: Team
    actor: Actor
    """As the ledger names them."""
    role: str
    """A key acts as an admin in what its scopes allow: it never touches owners."""
    user: User | None
    """None: a key asks."""
    key: KeyHolder | None
    """None: a person asks."""

    @property
    def team_id(self) -> uuid.UUID:
        """Return the id of the team asked for."""
        return self.team.id

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
    return Asker(team, actor, role, user, None)


def key_asker(holder: KeyHolder, team: Team) -> Asker:
    """Return a program that sent a key of the team."""
    actor = Actor("api_key", str(holder.key_id), holder.display)
    return Asker(team, actor, Role.ADMIN, None, holder)
