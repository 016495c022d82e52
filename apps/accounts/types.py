"""Values that cross the border of accounts. Plain and frozen; no ORM."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ProgressWord = Literal["reasoning", "events", "off"]
"""How a stream tells what its run is doing; a value of `ProgressForm`."""


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Whom a valid API key speaks for."""

    team_id: uuid.UUID
    team_slug: str
    team_name: str
    key_id: uuid.UUID
    display: str
    """Name of the key, for people and the ledger; never a part of the secret."""
    scopes: frozenset[str]
    always_include_usage: bool
    """True: streams end with usage even if the client did not ask for it."""
    created_by_id: uuid.UUID | None
    """None: its maker has been deleted, or it was made at a terminal."""
    expires_at: datetime
    allowed_tiers: frozenset[str] = frozenset()
    """Empty: all."""
    allowed_workers: frozenset[str] = frozenset()
    """Names of workers. Empty: all."""
    requests_per_minute: int | None = None
    """What this key may ask for. None: no limit but the team's."""
    tokens_per_minute: int | None = None
    team_requests_per_minute: int | None = None
    """What all keys of the team may ask for together. None: no limit."""
    team_tokens_per_minute: int | None = None
    delivery: Literal["live", "verified"] | None = None
    """How answers are streamed to this key. None: as the tier says."""
    progress: ProgressWord | None = None
    """How streams tell this key what a run is doing. None: as reasoning."""
    data_class: str = ""
    """Of its prompts, at least: one of `core.data_classes`. Empty: nothing is said."""


SESSION_INVITATION = "invitation_token"
"""Where the page of an invitation leaves its token for the sign-up."""
SESSION_INVITATION_PROOF = "invitation_proof"
"""Where it leaves what only the mail's link holds."""
