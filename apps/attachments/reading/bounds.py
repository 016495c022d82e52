"""What reading a document may use, and how it says that something is not read.

Knows nothing of the site: the process that reads imports nothing else of it.
"""

from __future__ import annotations

from time import process_time
from typing import NamedTuple

MAX_CHARACTERS = 400_000
"""Of the text of one document; what is longer is cut, and says so."""
READING_S = 6.0
"""Seconds of a processor after which no further page, row or paragraph is read."""
CPU_S, WALL_S = 10, 20
"""Seconds of a processor, and of time, after which the process is ended."""
MEMORY_BYTES = 768 << 20
"""Address space of the process."""
MAX_ENTRIES = 5_000
"""Files in one archive."""
MAX_UNPACKED_BYTES = 100_000_000
"""Of all files in one archive, unpacked."""
MAX_DEPTH = 200
"""Elements within each other in one XML file."""


class DocumentUnreadable(Exception):
    """The document is not read; the message says why, for people."""


class Document(NamedTuple):
    """What a document says."""

    text: str
    extent: str
    """How long it is, such as `12 pages`."""
    cut: str = ""
    """What is missing of it, in words. Empty: nothing."""
    kind: str = "pdf"
    """Or `docx`, `xlsx` or `pptx`."""


class Writing:
    """Collects a text until it is long enough, or took long enough to find."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    @property
    def is_full(self) -> bool:
        """Say whether nothing more is wanted."""
        return self._length >= MAX_CHARACTERS or process_time() > READING_S

    def add(self, piece: str) -> None:
        """Add a piece."""
        self._pieces.append(piece)
        self._length += len(piece)

    @property
    def text(self) -> str:
        """Return the text, not longer than it may be."""
        return "".join(self._pieces)[:MAX_CHARACTERS]

    @property
    def is_cut(self) -> bool:
        """Say whether the last piece did not fit."""
        return self._length > MAX_CHARACTERS


def counted(number: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
