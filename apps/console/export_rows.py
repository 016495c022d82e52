"""Exports of the ledger as the team's page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext

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
    outcome = gettext(wanted.outcome.capitalize()).lower()
    given = [
        (gettext("action {value}"), wanted.action),
        (gettext("by “{value}”"), wanted.actor),
        (gettext("about {value}"), wanted.subject_id),
        (gettext("outcome {value}"), outcome),
        (gettext("data class {value} or higher"), gettext(wanted.data_class or "")),
        (gettext("from {value} UTC"), _minute(wanted.since)),
        (gettext("before {value} UTC"), _minute(wanted.until)),
        (gettext("with “{value}”"), wanted.text),
    ]
    parts = [words.format(value=value) for words, value in given if value]
    if wanted.is_rare:
        parts.append(gettext("without routine steps of runs"))
    return ", ".join(parts) or gettext("all entries")


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
