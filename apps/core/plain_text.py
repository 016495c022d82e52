"""Characters that no name may hold, because they change how the text around it reads.

Control characters break lines and databases. Bidirectional embeddings, overrides and
isolates (Unicode Standard Annex #9) turn text that follows them on the same page around
if nothing closes them. Marks that only hint at a direction, and joiners, are part of
correct spelling in several scripts and stay.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence

from django.utils.translation import gettext_noop

_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, lone surrogates, separators of lines and of paragraphs."""
_DIRECTIONS = frozenset(
    map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x2070), *range(0xFFF9, 0xFFFC)))
)
"""Embeddings and overrides, isolates and their deprecated kin, annotations."""


DISRUPTIVE_NAME = gettext_noop(
    "A name holds no control characters, and none that turn the direction of text "
    "around."
)
"""The message about a name that is not plain."""


def is_plain(text: str) -> bool:
    """Say whether a text holds no character that changes the text around it."""
    return not any(map(_is_disruptive, text))


def plain(text: str) -> str:
    """Return the text without the characters that change the text around it."""
    if text.isascii() and text.isprintable():
        return text  # nearly always
    return "".join(c for c in text if not _is_disruptive(c))


def plain_line(text: str) -> str:
    """Return the text as one line of words, without disruptive characters."""
    return plain(" ".join(text.split()))


def _is_disruptive(character: str) -> bool:
    if character.isascii():
        return not character.isprintable()
    return character in _DIRECTIONS or unicodedata.category(character) in _CATEGORIES


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins with one of these may be run as a formula. Source: OWASP, CSV
Injection."""


def safe_cell(value: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{value}" if value.startswith(FORMULA_STARTS) else value


def csv_row(cells: Sequence[str | int | bool | None]) -> str:
    """Return a line of CSV that no spreadsheet takes for formulas; None is empty."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([_cell(value) for value in cells])
    return buffer.getvalue()


def _cell(value: str | int | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return safe_cell(value) if isinstance(value, str) else str(value)
