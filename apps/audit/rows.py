"""Whether the rows of other apps say what the ledger's entries say.

An app that keeps rows derived from entries names a check in LEDGER_ROW_CHECKS; the
ledger itself knows no other app's tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

SHOWN = 20
"""Differences of a team that are kept to be named; all are counted."""


class RowFault(NamedTuple):
    """A column of a row that says something else than the entries."""

    row: str
    """Which one, in words: `run 01a1…`."""
    column: str
    stored: str
    """As it may be shown: no text of a run."""
    derived: str


@dataclass(slots=True)
class RowReport:
    """What was derived anew for a team, and what differs."""

    checked: Counter[str] = field(default_factory=Counter)
    """How many rows, by kind."""
    differences: int = 0
    faults: list[RowFault] = field(default_factory=list)
    """The first of them."""

    def blame(self, fault: RowFault) -> None:
        """Take a difference."""
        self.differences += 1
        if len(self.faults) < SHOWN:
            self.faults.append(fault)


RowCheck = Callable[[UUID, UUID | None, RowReport], None]
"""Checks a team's rows, or those of one subject, and tells the report."""


def verify_rows(team_id: UUID, subject_id: UUID | None = None) -> RowReport:
    """Derive the rows of a team, or of one subject of it, from its entries."""
    report = RowReport()
    for path in settings.LEDGER_ROW_CHECKS:
        check: RowCheck = import_string(path)
        check(team_id, subject_id, report)
    return report
