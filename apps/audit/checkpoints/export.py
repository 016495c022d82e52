"""Copies checkpoints out of reach of those who can write to the database.

Each goes as one line to the log, under the name `conductor.checkpoints`, and to the end
of a file of this month in CHECKPOINT_DIR, if there is one. At least once: a process
that dies between the copy and the word that it was made leaves it to others, who copy
again. Nothing is locked meanwhile: a disk that hangs stops only the export.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from apps.audit.checkpoints.creation import make_durable
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.models import Checkpoint

copies = logging.getLogger("conductor.checkpoints")

AT_ONCE = 200
"""Checkpoints that a process takes upon itself at a time."""
CLAIM = timedelta(seconds=30)
"""After this long others copy what a process has taken upon itself."""

_Place = tuple[UUID, int]


class CheckpointExporter:
    """Copies what has not been copied. Of one thread."""

    def __init__(self) -> None:
        self._logged: set[_Place] = set()
        """In the log and not in the file, which cannot be written: once is enough."""

    def copy_all(self) -> int:
        """Copy all that no other process is copying; return how many there were.

        Raises: OSError if the file cannot be written; the log has them all the same.
        """
        count = 0
        while lines := _claim():
            self._copy(lines)
            count += len(lines)
        return count

    def _copy(self, lines: dict[_Place, str]) -> None:
        for place, line in lines.items():
            if place not in self._logged:
                copies.info("%s", line)
        if settings.CHECKPOINT_DIR:
            self._logged |= lines.keys()
            try:
                _append(Path(settings.CHECKPOINT_DIR), lines.values())
            except OSError:
                _rows(lines).update(claimed_at=None)  # another machine's disk may do
                raise
            self._logged -= lines.keys()
        _rows(lines).update(copied_at=Now())


def _claim() -> dict[_Place, str]:
    """Take some upon this process; return their lines."""
    unclaimed = Q(claimed_at__isnull=True) | Q(claimed_at__lt=Now() - CLAIM)
    rows = Checkpoint.objects.across_teams().filter(unclaimed, copied_at__isnull=True)
    if not rows.exists():  # looking takes no lock
        return {}
    make_durable(connections[DEFAULT_DB_ALIAS])
    with transaction.atomic():
        ordered = rows.select_for_update(skip_locked=True).order_by("team_id", "seq")
        claimed = {(row.team_id, row.seq): _line(row) for row in ordered[:AT_ONCE]}
        _rows(claimed).update(claimed_at=Now())
    return claimed


def _rows(places: Collection[_Place]) -> QuerySet[Checkpoint]:
    return Checkpoint.objects.across_teams().filter(pk__in=list(places))


def _line(row: Checkpoint) -> str:
    signed = row.hash, row.recorded, row.key_id, row.signature, row.root
    return SignedCheckpoint(str(row.team_id), row.seq, *signed).line


def _append(folder: Path, lines: Iterable[str]) -> None:
    """Add whole lines to the file of this month, and wait for the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y-%m}.jsonl"
    is_new = not path.exists()
    with path.open("ab", buffering=0) as file:
        text = "".join(f"{line}\n" for line in lines).encode()
        if _is_torn(path):
            text = b"\n" + text
        # One write, so that processes do not mix lines; the rest, if a disk is full.
        while text:
            text = text[file.write(text) :]
        os.fsync(file.fileno())
    if is_new:
        _sync_folder(folder)


def _is_torn(path: Path) -> bool:
    """Say whether a power loss or a full disk has left half a line at the end."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
