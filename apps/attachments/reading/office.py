"""Office files: archives of XML files, opened within bounds. Standard library alone."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from xml.parsers import expat

from apps.attachments.reading.bounds import (
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_UNPACKED_BYTES,
    DocumentUnreadable,
)

CONTENT_TYPES = "[Content_Types].xml"
PIECE_BYTES = 65_536
Begin = Callable[[str, Mapping[str, str]], None]
End = Callable[[str], None]


class Enough(Exception):
    """Nothing more of an XML file is wanted."""


class Archive:
    """An office file. Raises DocumentUnreadable for what is none, or too large."""

    def __init__(self, content: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as exc:
            raise DocumentUnreadable("the file is a damaged archive") from exc
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise DocumentUnreadable(f"the file holds more than {MAX_ENTRIES:,} files")
        if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
            raise DocumentUnreadable(
                f"unpacked, the file has more than {MAX_UNPACKED_BYTES:,} bytes"
            )
        self.names = frozenset(entry.filename for entry in entries)
        if any(name.lower().endswith("vbaproject.bin") for name in self.names):
            raise DocumentUnreadable("the file has macros; save it without them")
        self._left = MAX_UNPACKED_BYTES

    def main_type(self) -> str:
        """Return the types of its parts, which say what kind of document it is."""
        if CONTENT_TYPES not in self.names:
            raise DocumentUnreadable(
                "the file is an archive, and no Word or Excel document"
            )
        return self._whole(CONTENT_TYPES).decode("utf-8", "replace").lower()

    def parse(
        self,
        name: str,
        begin: Begin,
        end: End = lambda _: None,
        text: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Call back for each element of an XML file, by its name without a namespace.

        `begin` may raise Enough.
        """
        if name not in self.names:
            raise DocumentUnreadable(f"the document has no part {name}")
        parser, depth = expat.ParserCreate(namespace_separator="}"), 0
        parser.buffer_text = True

        def start(tag: str, attributes: Mapping[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > MAX_DEPTH:
                raise DocumentUnreadable("the document is nested too deeply")
            begin(tag.rpartition("}")[2], attributes)

        def stop(tag: str) -> None:
            nonlocal depth
            depth -= 1
            end(tag.rpartition("}")[2])

        def refuse(*_: object) -> None:
            raise DocumentUnreadable("the document declares entities of its own")

        parser.StartElementHandler, parser.EndElementHandler = start, stop
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = refuse
        try:
            with self._zip.open(name) as file:
                while piece := self._counted(file.read(PIECE_BYTES)):
                    parser.Parse(piece, False)
            parser.Parse(b"", True)
        except Enough:
            return
        except (expat.ExpatError, zipfile.BadZipFile, RuntimeError, OSError) as exc:
            raise DocumentUnreadable("the document is damaged") from exc

    def _whole(self, name: str) -> bytes:
        try:
            with self._zip.open(name) as file:
                return self._counted(file.read(PIECE_BYTES))
        except (zipfile.BadZipFile, RuntimeError, OSError) as exc:
            raise DocumentUnreadable("the document is damaged") from exc

    def _counted(self, piece: bytes) -> bytes:
        # What an archive says of its sizes need not be true.
        self._left -= len(piece)
        if self._left < 0:
            raise DocumentUnreadable(
                f"unpacked, the file has more than {MAX_UNPACKED_BYTES:,} bytes"
            )
        return piece
