"""Who a background job acts for, with the rights that they have at the moment."""

from __future__ import annotations

from uuid import UUID

from django.utils import timezone

from apps.accounts.models import Team, User
from apps.accounts.principal import Principal, key_principal, member_principal
from apps.accounts.rights import MANAGE_EVALUATIONS
from apps.accounts.selectors import membership_of
from apps.accounts.services import api_key_holder
from apps.audit.types import Actor
from apps.core.errors import NotAllowed


def requester_principal(
    requested: Actor, team: Team, user: User | None
) -> Principal | None:
    """Return who requested a job of a team; None: the operator did, by a command.

    Raises: NotAllowed, NotAuthenticated if the person or key may no longer run it.
    """
    if requested.type == "service":
        return None
    principal: Principal
    if requested.type == "api_key":
        holder = api_key_holder(team.id, UUID(requested.id), now=timezone.now())
        principal = key_principal(holder, requested.context)
    else:
        membership = None if user is None else membership_of(user, team.id)
        if user is None or membership is None:
            raise NotAllowed(f"{requested.display} is no longer a member of the team")
        principal = member_principal(user, team, membership.role, requested.context)
    principal.require(MANAGE_EVALUATIONS)
    return principal
