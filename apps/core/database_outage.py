"""Detects that the database is down."""

from __future__ import annotations

from django.db import InterfaceError, InternalError, OperationalError

from apps.core.errors import Overloaded

RETRY_AFTER_S = 2
STOOD_STILL = "25P03"
"""PostgreSQL has broken off a connection that did nothing in a transaction for too
long. The driver calls it an internal error."""


def is_outage(exc: BaseException) -> bool:
    """Say whether the database cannot be reached, or has broken off."""
    if isinstance(exc, InternalError):
        return getattr(exc.__cause__, "sqlstate", None) == STOOD_STILL
    return isinstance(exc, (OperationalError, InterfaceError))


def database_away() -> Overloaded:
    """Return the error for it; what the driver said is no one's business."""
    return Overloaded(
        "the database does not answer; try again", retry_after_s=RETRY_AFTER_S
    )
