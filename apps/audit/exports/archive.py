"""Writes an export: a ZIP file of the entries, and a signed list of its files."""

from __future__ import annotations

import zipfile
from collections.abc import Generator
from hashlib import sha256
from pathlib import Path
from typing import IO

from django.utils import timezone

from apps.audit.canonical_json import canonical_bytes
from apps.audit.exports.filters import FoundPage, filter_read, pages_found
from apps.audit.exports.formats import Texts, entry_line, header_of
from apps.audit.exports.parts import PartWriter
from apps.audit.models import LedgerExport
from apps.audit.opened_texts import texts_open
from apps.audit.signed_lists import (
    digests_of,
    public_keys_file,
    signed_list,
    utc_text,
)

README = "README.md"
FILES = Path(__file__).parent / "files"
ORIGIN = "conductor/ledger-export/"
PUBLIC_KEYS = "public-keys.pem"
MANIFEST = "manifest.txt"


class DigestedFile:
    """A file of the archive that is being written, and the digest of its content."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = sha256()

    def write(self, data: bytes) -> None:
        """Write bytes."""
        self._file.write(data)
        self.digest.update(data)


def archive_write(export: LedgerExport, target: PartWriter) -> Generator[None]:
    """Write the file of an export, one page of entries at a time.

    Counts the entries and how far the search has come on `export`. Raises:
    SecretUnreadable if a text does not open.
    """
    name = f"entries.{export.format}"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(name, "w", force_zip64=True) as file:
            entries = DigestedFile(file)
            entries.write(header_of(export.format))
            wanted = filter_read(export.filter)
            for found in pages_found(export.team_id, wanted, export.through_seq):
                _write_page(export, found, entries)
                yield
        files = {
            README: (FILES / README).read_bytes(),
            PUBLIC_KEYS: public_keys_file(),
        }
        digests = {**digests_of(files), name: entries.digest.hexdigest()}
        files[MANIFEST] = _manifest(export, digests)
        for each, content in files.items():
            archive.writestr(each, content)


def _write_page(export: LedgerExport, found: FoundPage, file: DigestedFile) -> None:
    texts: Texts | None = None
    if export.has_texts:
        named = {entry.seq: entry.bodies for entry in found.entries if entry.bodies}
        texts = texts_open(export.team_id, named)
    for entry in found.entries:
        file.write(entry_line(export.format, entry, texts))
    export.entries += len(found.entries)
    export.reached_seq = found.reached


def _manifest(export: LedgerExport, digests: dict[str, str]) -> bytes:
    """Return what the export is, and the digests of its files, as a signed note."""
    facts = [
        f"export {export.id}",
        f"format {export.format}",
        f"texts {'yes' if export.has_texts else 'no'}",
        f"filter {canonical_bytes(export.filter).decode()}",
        f"entries {export.entries}",
        f"through {export.through_seq}",
        f"time {utc_text(timezone.now())}",
    ]
    return signed_list(f"{ORIGIN}{export.team_id}", facts, digests)
