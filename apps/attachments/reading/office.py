"""Office files: archives of XML files, opened within bounds. Standard library alone."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import NamedTuple
from xml.parsers import expat

from apps.attachments.reading.bounds import (
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_UNPACKED_BYTES,
    DocumentUnreadable,
)

CONTENT_TYPES = "[Content_Types].xml"
PIECE_BYTES = 65_536
TYPES_BYTES = 1_000_000
"""Bytes of the list of its parts that are looked at."""
MAIN = "/officeDocument"
"""How the type of the relation to the main part ends."""
NO_OFFICE = (
    "the file is no Word (.docx), Excel (.xlsx) or PowerPoint (.pptx) document that "
    "can be read; it may be damaged, or be of another type than its name says"
)
Begin = Callable[[str, Mapping[str, str]], None]
End = Callable[[str], None]


class Enough(Exception):
    """Nothing more of an XML file is wanted."""


class Relation(NamedTuple):
    """A part that another part of an office file refers to."""

    kind: str
    part: str


def relation_of(attributes: Mapping[str, str]) -> str:
    """Return the id of the relation that an element names; empty: none."""
    return next((v for name, v in attributes.items() if name.endswith("}id")), "")


class Archive:
    """An office file. Raises DocumentUnreadable for what is none, or too large."""

    def __init__(self, content: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as exc:
            raise DocumentUnreadable(NO_OFFICE) from exc
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
            raise DocumentUnreadable(NO_OFFICE)
        return self._beginning(CONTENT_TYPES).decode("utf-8", "replace").lower()

    def main_part(self, usual: str) -> str:
        """Return the name of the part that holds the document, mostly the usual one."""
        if usual in self.names:
            return usual
        found = (r.part for r in self.relations("").values() if r.kind.endswith(MAIN))
        return next(found, usual)

    def relations(self, part: str) -> dict[str, Relation]:
        """Return what a part refers to, by the ids that it uses; empty: the file."""
        folder, name = posixpath.split(part)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        found: dict[str, Relation] = {}

        def begin(tag: str, attributes: Mapping[str, str]) -> None:
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.join("/", folder, attributes.get("Target", ""))
                found[attributes.get("Id", "")] = Relation(
                    attributes.get("Type", ""), posixpath.normpath(target).lstrip("/")
                )

        if listed in self.names:
            self.parse(listed, begin)
        return found

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
            raise DocumentUnreadable(NO_OFFICE)
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

    def _beginning(self, name: str) -> bytes:
        try:
            with self._zip.open(name) as file:
                return self._counted(file.read(TYPES_BYTES))
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
