"""Exports of the ledger as the team's page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import timezone

from apps.audit.browsing.search import EntryFilter
from apps.audit.exports.filters import filter_read
from apps.audit.jobs import job_state
from apps.audit.models import LedgerExport


@dataclass(frozen=True, slots=True)
class ExportRow:
    """A row of the list of exports."""

    export: LedgerExport
    state: str
    """waiting, running, lost, failed or done."""
    words: str
    """The filter as a sentence part."""

    @property
    def is_open(self) -> bool:
        """Say whether it is still being made."""
        return self.state in ("waiting", "running", "lost")

    @property
    def percent(self) -> int:
        """Return how far the search has come."""
        export = self.export
        return min(100 * export.reached_seq // max(export.through_seq, 1), 99)

    @property
    def requested_by(self) -> str:
        """Return the name of the person or key that requested it."""
        return str(self.export.requested_by.get("display", ""))

    @property
    def is_expired(self) -> bool:
        """Say whether its file can no longer be downloaded."""
        end = self.export.expires_at
        return end is not None and end <= timezone.now()


def export_rows(exports: Iterable[LedgerExport]) -> list[ExportRow]:
    """Return the rows of a list of exports."""
    return [
        ExportRow(
            export,
            "failed" if export.error else job_state(export),
            filter_words(filter_read(export.filter)),
        )
        for export in exports
    ]


def filter_words(wanted: EntryFilter) -> str:
    """Return a filter in words: `action api_key.*, by “Alice”, from 2026-11-01`."""
    parts = [
        f"action {wanted.action}" if wanted.action else "",
        f"by “{wanted.actor}”" if wanted.actor else "",
        f"about {wanted.subject_id}" if wanted.subject_id else "",
        f"outcome {wanted.outcome}" if wanted.outcome else "",
        f"data class {wanted.data_class} or higher" if wanted.data_class else "",
        f"from {wanted.since:%Y-%m-%d %H:%M} UTC" if wanted.since else "",
        f"before {wanted.until:%Y-%m-%d %H:%M} UTC" if wanted.until else "",
        f"with “{wanted.text}”" if wanted.text else "",
        "without routine steps of runs" if wanted.is_rare else "",
    ]
    return ", ".join(part for part in parts if part) or "all entries"
