"""The text of Word documents: paragraphs, and tables with a tab between cells."""

from __future__ import annotations

from collections.abc import Mapping

from apps.attachments.reading.bounds import (
    Document,
    DocumentUnreadable,
    Writing,
    counted,
)
from apps.attachments.reading.office import Archive, Enough

PART = "word/document.xml"
BREAKS = {"p": "\n", "tr": "\n", "br": "\n", "cr": "\n", "tc": "\t"}
"""What stands at the end of an element; a cell's paragraphs end with the cell."""


def read_docx(archive: Archive) -> Document:
    """Return the text of the body. Raises: DocumentUnreadable."""
    body = _Body()
    archive.parse(PART, body.begin, body.end, body.text)
    writing, extent = body.writing, counted(body.paragraphs, "paragraph")
    if not writing.text.strip():
        raise DocumentUnreadable("the document has no text")
    if not (writing.is_full or writing.is_cut):
        return Document(writing.text, extent)
    return Document(
        writing.text, f"more than {extent}", f"the first {extent} are included"
    )


class _Body:
    """Writes paragraphs as the XML is read."""

    def __init__(self) -> None:
        self.writing = Writing()
        self.paragraphs = 0
        self._open_cells = 0
        self._is_text = False

    def begin(self, tag: str, _: Mapping[str, str]) -> None:
        """Take the beginning of an element."""
        if self.writing.is_full:
            raise Enough
        self._is_text = tag == "t"
        self._open_cells += tag == "tc"
        if tag == "tab":
            self.writing.add("\t")

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        self._is_text = False
        self.paragraphs += tag == "p"
        self._open_cells -= tag == "tc"
        if tag == "p" and self._open_cells:
            self.writing.add(" ")
        elif tag in BREAKS:
            self.writing.add(BREAKS[tag])

    def text(self, piece: str) -> None:
        """Take characters."""
        if self._is_text:
            self.writing.add(piece)
