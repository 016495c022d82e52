"""Results of selectors and of the retention job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from apps.governance.policies.rules import PolicyDocument

PolicyName = Literal["site", "team"]
"""Whose a policy is."""
MIN_DAYS = 183
"""Six months: so long the EU's AI Act (article 26, 6) has deployers keep logs."""
MAX_DAYS = 2_557
"""Seven years, leap days included."""
MIN_IDLE_DAYS = 7
"""The shortest time after which an unused conversation can be deleted."""


@dataclass(frozen=True, slots=True)
class IdleRule:
    """Which conversations of a team are deleted because they are not used."""

    days: int | None
    """Days without a turn. None: no conversation is deleted."""
    keeps_pinned: bool
    """True: pinned ones are not."""
    begins_at: datetime | None
    """None is deleted before, because the rule has just been made stricter; else
    None."""


@dataclass(frozen=True, slots=True)
class RetentionStatus:
    """A team's retention period, and how far its content is erased."""

    days: int | None
    """The team's own choice. None: as the site says."""
    site_days: int | None
    """For teams that chose nothing. None: without a limit."""
    begins_at: datetime | None
    """Nothing is erased before, because the period has just been shortened; else
    None."""
    erased_until: datetime | None
    """Content recorded until then is erased, except what is on hold. None: none is."""
    idle: IdleRule
    """For conversations."""

    @property
    def effective_days(self) -> int | None:
        """Return the period that applies. None: no limit."""
        return self.site_days if self.days is None else self.days


@dataclass(frozen=True, slots=True)
class Erased:
    """What one step has erased."""

    team_id: UUID
    texts: int


@dataclass(frozen=True, slots=True)
class IdleDeleted:
    """What one step has deleted."""

    team_id: UUID
    conversations: int


@dataclass(frozen=True, slots=True)
class Held:
    """What of a team is on legal hold."""

    is_all: bool
    run_ids: frozenset[UUID]

    def __contains__(self, subject_id: UUID) -> bool:
        """Say whether something is on hold."""
        return self.is_all or subject_id in self.run_ids


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The newest version of a policy."""

    name: PolicyName
    """Whose it is, as events name it."""
    version: int | None
    """0: there never was a rule. None: not even that could be read."""
    document: PolicyDocument
    """Without rules if it cannot be read."""
    is_readable: bool = True
    """False: what is stored cannot be read, so the policy denies every run."""
    serves_reviews: bool = False
    """The team's rules of reviews depend on the data class of prompts."""

    @property
    def binds(self) -> bool:
        """Say whether runs have to be checked against it."""
        has_say = bool(self.document.rules) or not self.is_readable
        return has_say or self.serves_reviews

    @property
    def needs_classes(self) -> bool:
        """Say whether something depends on what the prompt holds."""
        return self.serves_reviews or self.document.needs_classes

    @property
    def place(self) -> str:
        """Return its name as reasons have it: "team policy, version 3"."""
        version = "" if self.version is None else f", version {self.version}"
        return f"{self.name} policy{version}"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What one actor says of a run's answer."""

    rating: str
    """up or down. Empty: they only verified it."""
    score: float | None
    """From 0 to 1, how right it is as their verifier found. None: not verified."""
    comment: str | None
    """Empty: there is none. None: it has been erased."""
    actor_id: str
    actor_name: str
    updated_at: datetime
