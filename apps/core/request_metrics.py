"""Requests and websockets of this process, counted by class of address.

Classes are few and fixed, whatever addresses are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from apps.core.metrics import LONG_S, Counts, Histogram
from apps.core.metrics import Gauge as _Gauge

REQUESTS = Counts(
    "http_requests",
    "Answers sent, by class of address and of status; 0xx: the client left before.",
    ("route", "status"),
)
REQUEST_SECONDS = Histogram(
    "http_request_seconds",
    "From a request to the end of its answer, streams included.",
    LONG_S,
    ("route",),
)
PAGES = "pages"
_CLASSES: Mapping[str, str] = {
    "api": "rest",
    "static": "static",
    "admin": "admin",
    "accounts": "accounts",
    "metrics": "metrics",
}
"""By the first part of an address; everything else is a page."""
_STATUSES = tuple(f"{hundred}xx" for hundred in range(6))
_open_sockets = [0]


def route_class(path: str) -> str:
    """Return the class of an address beyond `/v1`."""
    return _CLASSES.get(path[1:].partition("/")[0], PAGES)


def count_request(route: str, status: int, seconds: float) -> None:
    """Count one answer; a status of 0 if none was sent."""
    hundred = status // 100
    REQUESTS.add(route, _STATUSES[hundred if hundred < len(_STATUSES) else 5])
    REQUEST_SECONDS.observe(seconds, route)


def count_socket(change: int) -> None:
    """Count a websocket that opens (1) or closes (-1)."""
    _open_sockets[0] += change


def open_sockets() -> int:
    """Return how many websockets are open in this process."""
    return _open_sockets[0]


_Gauge(
    "websockets_open",
    "Websockets open in this process.",
    lambda: {(): open_sockets()},
)
