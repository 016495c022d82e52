"""Stores the file of an export: encrypted pieces, in the order they are written."""

from __future__ import annotations

import io
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from uuid import UUID

from apps.audit.models import LedgerExport, LedgerExportPart
from apps.core.keyring import seal, unseal

FILE_TYPE = "application/zip"
PART_BYTES = 1 << 20
"""Of each piece but the last."""


class PartWriter(io.RawIOBase):
    """A file to write to, from start to end; each full piece is stored at once.

    A long file must not keep others from writing: every piece is a transaction.
    """

    def __init__(self, export: LedgerExport) -> None:
        super().__init__()
        self._export = export
        self._rest = bytearray()
        self._digest = sha256()
        self._count = 0
        self.size = 0
        """Bytes written so far."""

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Take bytes, and return how many."""
        self._rest += data
        self._digest.update(data)
        self.size += len(data)
        while len(self._rest) >= PART_BYTES:
            self._store(bytes(self._rest[:PART_BYTES]))
            del self._rest[:PART_BYTES]
        return len(data)

    def finish(self) -> str:
        """Store what is left, and return the SHA-256 of the file in hexadecimal."""
        if self._rest:
            self._store(bytes(self._rest))
            self._rest.clear()
        return self._digest.hexdigest()

    def _store(self, part: bytes) -> None:
        LedgerExportPart.objects.create(
            export=self._export,
            claim_id=claim_of(self._export),
            index=self._count,
            sealed=seal(part, context=_context(self._export, self._count)),
        )
        self._count += 1


def parts_read(export: LedgerExport) -> Iterator[bytes]:
    """Yield the file of a complete export, piece by piece. Raises: SecretUnreadable."""
    parts = export.parts.filter(claim_id=claim_of(export))
    for index in count():
        sealed = parts.filter(index=index).values_list("sealed", flat=True).first()
        if sealed is None:
            return
        yield unseal(bytes(sealed), context=_context(export, index))


def claim_of(export: LedgerExport) -> UUID:
    """Return the claim under which an export is written. Raises: ValueError."""
    if export.claim_id is None:
        raise ValueError("no process has claimed this export")
    return export.claim_id


def _context(export: LedgerExport, index: int) -> bytes:
    """Return what the encryption of a piece is bound to."""
    place = claim_of(export).bytes + index.to_bytes(4)
    return b"audit.export" + export.id.bytes + place
