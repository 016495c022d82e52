"""Paragraphs of documents and slides, and tables with a tab between cells."""

from __future__ import annotations

from collections.abc import Mapping

from apps.attachments.reading.bounds import Writing
from apps.attachments.reading.office import Enough

BREAKS = {"p": "\n", "tr": "\n", "br": "\n", "cr": "\n", "tc": "\t"}
"""What stands at the end of an element; a cell's paragraphs end with the cell."""
REPEATED = frozenset({"dt", "ftr", "hdr", "sldNum"})
"""Placeholders of what stands on every slide alike: date, footer, header, number."""


class ParagraphWriter:
    """Writes paragraphs as the XML is read, into a text that may have begun."""

    def __init__(self, writing: Writing) -> None:
        self.writing = writing
        self.paragraphs = 0
        self.has_text = False
        self._open_cells = 0
        self._open_fallbacks = 0
        self._is_text = False
        self._is_repeated = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take the beginning of an element."""
        if self.writing.is_full:
            raise Enough
        if tag == "Fallback":  # says again, for old programs, what stood before it
            self._open_fallbacks += 1
        elif tag == "sp":
            self._is_repeated = False
        elif tag == "ph":
            self._is_repeated = attributes.get("type") in REPEATED
        self._is_text = tag == "t" and not self._is_left_out
        self._open_cells += tag == "tc"
        if tag == "tab" and not self._is_left_out:
            self.writing.add("\t")

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        self._is_text = False
        if tag == "Fallback":
            self._open_fallbacks -= 1
        elif tag == "sp":
            self._is_repeated = False
        if self._is_left_out:
            self._open_cells -= tag == "tc"
            return
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
            self.has_text = self.has_text or bool(piece.strip())

    @property
    def _is_left_out(self) -> bool:
        return self._open_fallbacks > 0 or self._is_repeated
