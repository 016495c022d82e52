"""The requester of a connection, for the server's queues.

The server puts a `Requester` into a connection's scope; the code that authenticates the
connection adds the team. It orders queues and decides nothing else.
"""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Hashable, MutableMapping
from typing import Any

REQUESTER = "conductor.requester"
"""Where a connection's scope holds its `Requester`."""


class Requester:
    """The other end of one connection."""

    __slots__ = ("key", "signature", "team_id")

    def __init__(self, signature: int, key: Hashable) -> None:
        self.signature = signature
        """A hash of what the connection is signed with."""
        self.key = key
        """The line it waits in."""
        self.team_id: uuid.UUID | None = None
        """Its team, once it is authenticated."""


def set_team(scope: MutableMapping[str, Any], team_id: uuid.UUID) -> None:
    """Tell the server which team an authenticated connection is of."""
    requester: Requester | None = scope.get(REQUESTER)
    if requester is not None:
        requester.team_id = team_id


def network_of(address: str) -> str:
    """Return what counts as one address: of IPv6 the /64 that one customer has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return address
