"""The requester of a connection, for the server's queues and for limits of addresses.

The server puts a `Requester` into a connection's scope; the code that authenticates the
connection adds the team. It orders queues and decides nothing else.
"""

from __future__ import annotations

import ipaddress
import math
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, MutableMapping
from threading import Lock
from typing import Any

REQUESTER = "conductor.requester"
"""Where a connection's scope holds its `Requester`."""
WINDOW_S = 60.0
MAX_ADDRESSES = 10_000
"""Addresses that are counted; beyond, the one that began first is forgotten."""


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


class AddressCounts:
    """Counts what addresses do within a minute, in this process, in bounded memory.

    Of IPv6 the /64 that one customer has counts as one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """By network: when its window began, and what was counted since. Oldest
        first."""
        self._lock = Lock()

    def count(self, address: str, limit: int) -> int | None:
        """Count one; return in how many seconds to come back, None: within the limit.

        `limit` 0: any number.
        """
        network, now = network_of(address), self._clock()
        with self._lock:
            began, count = self._windows.get(network, (now, 0))
            if now - began >= WINDOW_S:
                del self._windows[network]
                began, count = now, 0
            self._windows[network] = (began, count + 1)
            if len(self._windows) > MAX_ADDRESSES:
                self._windows.popitem(last=False)
        if limit and count >= limit:
            return math.ceil(began + WINDOW_S - now)
        return None

    def clear(self) -> None:
        """Forget everything, as a restart would."""
        with self._lock:
            self._windows.clear()

    def __len__(self) -> int:
        return len(self._windows)
