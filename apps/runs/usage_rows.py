"""Rows of reports on usage. Pure values."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Literal, NamedTuple

from django.utils.translation import gettext_noop

UsageGroup = Literal["day", "worker", "member", "key"]


PLANNING = gettext_noop("Planning and interrupted calls")
NOBODY = gettext_noop("A former member")
NO_KEY = gettext_noop("Without a key")
"""Labels of usage, with the two above, that name no worker, member or key."""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one day, worker, member or key used."""

    label: str
    """The day as `2030-01-31`, or a name."""
    id: uuid.UUID | None
    """Of the member or key; None for days and workers, and for those who are gone."""
    runs: int | None
    """None: in how many it was is not counted."""
    failed: int
    """Runs that failed; for a worker, steps that failed."""
    prompt_tokens: int
    completion_tokens: int
    cost_micros: int
    """The known part."""
    has_unknown_cost: bool


class WorkerCalls(NamedTuple):
    """How a worker fared in recent runs."""

    calls: int
    """Steps it answered, or failed to answer."""
    failures: int
    latency_ms: int | None
    """Median of the answered ones; None if there is none."""
