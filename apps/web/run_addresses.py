"""How filters of the list of runs stand in addresses: of the list and of its links."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from django.utils.dateformat import format as format_date
from django.utils.translation import gettext

from apps.runs.models import NOT_BY_CALLERS, Run, Source
from apps.runs.types import FaultName

BY_CALLERS = "callers"
NONE = "-"
"""As a value: runs without a plan, family, key or member."""
BETWEEN = ".."
"""Between the first and the last day of a period."""
STAGES = ("plan", "step", "loop", "run")


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Whole days of UTC, both included."""

    first: date
    last: date

    @classmethod
    def read(cls, text: str) -> DaySpan | None:
        """Return what `2030-01-31` or `2030-01-01..2030-01-31` says; None: nothing."""
        begin, _, end = text.partition(BETWEEN)
        first, last = _day_of(begin), _day_of(end or begin)
        if first is None or last is None or last < first:
            return None
        return cls(first, last)

    @property
    def text(self) -> str:
        """Return it as it stands in addresses."""
        first, last = self.first.isoformat(), self.last.isoformat()
        return first if first == last else f"{first}{BETWEEN}{last}"

    @property
    def label(self) -> str:
        """Return it for people."""
        if self.first == self.last:
            return f"{format_date(self.first, 'j M Y')} (UTC)"
        return gettext("{first} to {last} (UTC)").format(
            first=format_date(self.first, "j M"), last=format_date(self.last, "j M Y")
        )


def _day_of(text: str) -> date | None:
    """Return the day that is named, unless no calendar or clock goes there."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if date(1970, 1, 2) < day < date(9000, 1, 1) else None


def sources_of(chosen: str) -> tuple[str, ...]:
    """Return the sources of a choice; empty: all."""
    if chosen == BY_CALLERS:
        return tuple(each for each in Source.values if each not in NOT_BY_CALLERS)
    return (chosen,) if chosen else ()


def id_of(value: str) -> uuid.UUID | None:
    """Return the id in an address; None: it is none."""
    try:
        return uuid.UUID(value)
    except ValueError:
        return None


def requester_query(run: Run) -> str:
    """Return the filter that leaves the runs of the person or key that asked for one.

    By name, if the account or key is gone.
    """
    if run.user_id is not None:
        return f"member={run.user_id.hex}"
    if run.api_key_id is not None:
        return f"key={run.api_key_id.hex}"
    return urlencode({"who": run.actor_name})


def named(value: str) -> str | None:
    """Return what a filter looks for; empty: runs without one; None: all runs."""
    return ("" if value == NONE else value) if value else None


def fault_text(wanted: FaultName) -> str:
    """Return a fault as it stands in addresses, like `step:timeout:coder`."""
    return ":".join(wanted)


def fault_of(text: str) -> FaultName | None:
    """Return the fault that is named so; None: it makes no sense."""
    parts = text.split(":", 2)
    return FaultName(*parts) if len(parts) == 3 and parts[0] in STAGES else None
