"""Values that cross the border of sharing. Plain and frozen; no ORM."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from apps.core.data_classes import DataClassName


class LinkState(StrEnum):
    """Where a share link stands."""

    OPEN = "open"
    """It works."""
    STOPPED = "stopped"
    """Its time is not over, but it does not work: sharing is off, its data class is too
    high by now, or its maker may not share."""
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class SharingStatus:
    """Whether a team shares by links, and what."""

    is_on: bool
    """The team's choice."""
    is_allowed: bool
    """The operator's: False stops the links of all teams."""
    max_days: int
    """The longest time for which a link works."""
    highest_class: DataClassName
    """Runs of a higher data class are not shared."""

    @property
    def works(self) -> bool:
        """Say whether links can be made and opened."""
        return self.is_on and self.is_allowed


@dataclass(frozen=True, slots=True)
class LinkFilters:
    """Which share links of a team are wanted."""

    state: LinkState | None = None
    """None: any."""
    user_id: UUID | None = None
    """Who made them. None: anyone."""
    run_id: UUID | None = None
    conversation_id: UUID | None = None
