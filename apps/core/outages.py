"""What a database that is away looks like, to people and programs."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError

from apps.core.errors import Overloaded

OUTAGES = (OperationalError, InterfaceError)
"""What Django raises when the database cannot be reached, or breaks off."""
RETRY_AFTER_S = 2


def database_away() -> Overloaded:
    """Return the error for it; what the driver said is no one's business."""
    return Overloaded(
        "the database does not answer; try again", retry_after_s=RETRY_AFTER_S
    )
