"""Which team a connection is of, as far as the server's queues need to know.

The server puts an `Asker` into a connection's scope; whoever authenticates the
connection tells it the team. It orders queues and decides nothing else.
"""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Hashable, MutableMapping
from typing import Any

ASKER = "conductor.asker"
"""Where a connection's scope holds its `Asker`."""


class Asker:
    """One connection's."""

    __slots__ = ("key", "signature", "team_id")

    def __init__(self, signature: int, key: Hashable) -> None:
        self.signature = signature
        """A hash of what the connection is signed with."""
        self.key = key
        """Whose line it waits in."""
        self.team_id: uuid.UUID | None = None
        """Whom it turned out to be of."""


def tell_team(scope: MutableMapping[str, Any], team_id: uuid.UUID) -> None:
    """Tell the server which team an authenticated connection is of."""
    asker: Asker | None = scope.get(ASKER)
    if asker is not None:
        asker.team_id = team_id


def network_of(address: str) -> str:
    """Return what counts as one address: of IPv6 the /64 that one customer has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return address
