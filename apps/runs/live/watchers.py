"""Whether people who watch runs through this process may go on watching.

A socket lives for longer than the request that opened it. So all sockets of a process
are looked at together, now and then: the session that opened each one must still sign
its owner in, and the owner must be a member of the run's team.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from channels.db import database_sync_to_async

from apps.accounts.models import Membership
from apps.accounts.selectors import live_sessions

CHECK_S = 4.0
"""Between two looks. With the time of a look, a socket ends within five seconds."""
SESSION_ENDED = 4419
"""The close code of a socket whose session has ended. A browser that was given another
session, as by a changed password, connects again; any other is then not signed in."""
NO_SUCH_RUN = 4404
"""The close code for people who must not know whether there is such a run."""


@dataclass(frozen=True, slots=True)
class SocketOwner:
    """Who opened a socket, with which session, to watch a run of which team."""

    user_id: uuid.UUID
    session_key: str
    team_id: uuid.UUID


@database_sync_to_async  # type: ignore[untyped-decorator]
def refusals(owners: Sequence[SocketOwner]) -> Mapping[SocketOwner, int]:
    """Return the close codes of the owners who may no longer watch.

    Two queries, however many there are.
    """
    sessions = live_sessions({each.session_key: each.user_id for each in owners})
    users = {each.user_id for each in owners}
    # Across teams: the sockets of a process are of many.
    rows = Membership.objects.across_teams().filter(user_id__in=users)
    members = set(rows.values_list("user_id", "team_id"))
    codes: dict[SocketOwner, int] = {}
    for owner in owners:
        if owner.session_key not in sessions:
            codes[owner] = SESSION_ENDED
        elif (owner.user_id, owner.team_id) not in members:
            codes[owner] = NO_SUCH_RUN
    return codes
