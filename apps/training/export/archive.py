"""Makes the file of an export piece by piece, while it is sent: nothing is stored."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice

from django.utils import timezone

from apps.accounts.models import Team
from apps.training.export.card import CardFacts, card_written
from apps.training.export.step_rows import parquet_of
from apps.training.learning_data.reading import learning_records
from apps.training.learning_data.records import LearningRecord
from apps.training.learning_data.tally import LearningTally

RUNS_OF_A_FILE = 500
"""Of each Parquet file in the archive; its rows are in memory."""
CARD = "README.md"


class _Outlet(io.RawIOBase):
    """A file to write to, whose content is taken away as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self._written = bytearray()

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Keep bytes until they are taken, and return how many."""
        self._written += data
        return len(data)

    def take(self) -> bytes:
        """Return what has been written since the last time."""
        taken = bytes(self._written)
        self._written.clear()
        return taken


def archive_parts(team: Team, pool: str, *, has_consent: bool) -> Iterator[bytes]:
    """Yield a ZIP file of Parquet files with their data card, which comes last.

    Raises: HistoryUnreadable if entries of a run are missing in the ledger.
    """
    outlet, tally = _Outlet(), LearningTally()
    facts = CardFacts(team.name, pool, has_consent, timezone.now())
    records = _counted(learning_records(team.id, pool), tally)
    with zipfile.ZipFile(outlet, "w", zipfile.ZIP_STORED) as archive:
        number = 0
        while (some := list(islice(records, RUNS_OF_A_FILE))) or not number:
            archive.writestr(f"data/steps-{number:05}.parquet", parquet_of(some))
            number += 1
            yield outlet.take()
        archive.writestr(CARD, card_written(facts, tally))
    yield outlet.take()


def _counted(
    records: Iterable[LearningRecord], tally: LearningTally
) -> Iterator[LearningRecord]:
    for record in records:
        tally.add(record)
        yield record
