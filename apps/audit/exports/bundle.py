"""Writes an export that proves its entries: those of a filter, as for a single run.

The files are those of a run's export, and `verify.py` verifies both. Entries are read
once for each file that has something of all of them, so memory stays bounded.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import orjson
from django.utils import timezone

from apps.audit.bundles import verifier
from apps.audit.bundles.archive import REPORT, common_files
from apps.audit.bundles.contents import (
    BundleEntry,
    covering_checkpoint,
    entries_proven,
    require_readable,
    signed_tree,
)
from apps.audit.canonical_json import canonical_bytes
from apps.audit.chain import entry_hash
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.exports.archive import DigestedFile
from apps.audit.exports.filters import filter_read, pages_found
from apps.audit.exports.parts import PartWriter
from apps.audit.exports.report import LedgerReport
from apps.audit.merkle.hashing import leaf_hash
from apps.audit.merkle.proofs import is_included
from apps.audit.merkle.stored_tree import StoredTree
from apps.audit.models import LedgerExport
from apps.audit.signed_lists import (
    digests_of,
    signed_list,
    utc_text,
)
from apps.core.errors import Conflict

README = Path(__file__).parent / "files" / "BUNDLE.md"
MAX_ENTRIES = 100_000
"""Of one bundle: whoever verifies it holds it in memory."""
TOO_MANY = f"a bundle has {MAX_ENTRIES:,} entries at most; narrow the filter"
EMPTY = "the ledger has no entries"


class _ListFile(NamedTuple):
    """A file with something of all entries, and what comes around and between it."""

    name: str
    start: bytes
    between: bytes
    end: bytes
    items: Callable[[BundleEntry], Iterable[bytes]]


def _lines(entry: BundleEntry) -> Iterator[bytes]:
    yield entry.canonical + b"\n"


def _proofs(entry: BundleEntry) -> Iterator[bytes]:
    yield orjson.dumps(entry.proof)


def _texts(entry: BundleEntry) -> Iterator[bytes]:
    yield from (orjson.dumps(text.document) for text in entry.texts)


LISTS = (
    _ListFile(verifier.ENTRIES, b"", b"", b"", _lines),
    _ListFile(verifier.PROOFS, b'{"entries":[', b",\n", b"]}\n", _proofs),
    _ListFile(verifier.BODIES, b'{"bodies":[', b",\n", b"]}\n", _texts),
)
TEXTS = 2
"""The list that has the texts."""
READINGS = len(LISTS) + 1
"""How often the entries are read: for each list, and for the report."""


def bundle_write(export: LedgerExport, target: PartWriter) -> Generator[None]:
    """Write the file of an export with proofs, one page of entries at a time.

    Counts the entries and how far the work has come on `export`. Raises: Conflict if an
    entry is not what was signed, or there are too many; SecretUnreadable.
    """
    if not export.through_seq:
        raise Conflict(EMPTY)
    checkpoint = covering_checkpoint(export.team_id, export.through_seq)
    signed_tree(export.team_id, checkpoint)
    files = {"README.md": README.read_bytes(), **common_files(checkpoint)}
    digests = digests_of(files)
    time = utc_text(timezone.now())
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, each in enumerate(LISTS):
            with archive.open(each.name, "w", force_zip64=True) as file:
                made = DigestedFile(file)
                yield from _write_list(export, checkpoint, number, made)
            digests[each.name] = made.digest.hexdigest()
        with archive.open(REPORT, "w", force_zip64=True) as file:
            made = DigestedFile(file)
            yield from _write_report(export, checkpoint, time, made)
        digests[REPORT] = made.digest.hexdigest()
        files[verifier.MANIFEST] = _manifest(export, checkpoint, time, digests)
        for name, content in files.items():
            archive.writestr(name, content)


def _write_list(
    export: LedgerExport, checkpoint: SignedCheckpoint, number: int, file: DigestedFile
) -> Generator[None]:
    one = LISTS[number]
    file.write(one.start)
    between = b""
    for entries in _pages(export, checkpoint, number):
        for item in chain.from_iterable(map(one.items, entries)):
            file.write(between + item)
            between = one.between
        yield
    file.write(one.end)


def _write_report(
    export: LedgerExport, checkpoint: SignedCheckpoint, time: str, file: DigestedFile
) -> Generator[None]:
    report = LedgerReport(export, checkpoint, time)
    file.write(report.start())
    for entries in _pages(export, checkpoint, len(LISTS)):
        file.write(report.rows(entries))
        yield
    file.write(report.end(StoredTree(export.team_id, checkpoint.seq)))


def _pages(
    export: LedgerExport, checkpoint: SignedCheckpoint, number: int
) -> Iterator[Sequence[BundleEntry]]:
    """Yield the entries for a file; for the first one they are counted."""
    team_id, through = export.team_id, export.through_seq
    is_first, is_of_texts = number == 0, number == TEXTS
    for found in pages_found(team_id, filter_read(export.filter), through):
        tree = StoredTree(team_id, checkpoint.seq)  # it keeps what it has read
        has_texts = is_of_texts and export.has_texts
        require_readable(team_id, found.entries)
        entries = entries_proven(tree, found.entries, has_texts=has_texts)
        if is_first:
            _require_signed(tree, entries)
            export.entries += len(entries)
            if export.entries > MAX_ENTRIES:
                raise Conflict(TOO_MANY)
        export.reached_seq = (number * through + found.reached) // READINGS
        yield entries


def _require_signed(tree: StoredTree, entries: Iterable[BundleEntry]) -> None:
    """Check that the entries are in the signed tree. Raises: Conflict."""
    root = tree.root()
    for entry in entries:
        hashed = entry_hash(tree.team_id, entry.seq, entry.previous, entry.canonical)
        place = entry.seq - 1
        if not is_included(leaf_hash(hashed), place, tree.size, root, entry.path):
            raise Conflict(
                f"entry {entry.seq} is not what was signed; verify the ledger"
            )


def _manifest(
    export: LedgerExport,
    checkpoint: SignedCheckpoint,
    time: str,
    digests: dict[str, str],
) -> bytes:
    facts = [
        f"filter {canonical_bytes(export.filter).decode()}",
        f"texts {'yes' if export.has_texts else 'no'}",
        f"entries {export.entries}",
        f"checkpoint {checkpoint.seq}",
        f"time {time}",
    ]
    return signed_list(f"{verifier.EXPORT_NAME}{export.team_id}", facts, digests)
