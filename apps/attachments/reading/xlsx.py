"""The values of Excel workbooks: each sheet as rows, with a tab between cells.

Formulas read as their last result, and dates as ISO 8601.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from apps.attachments.reading.bounds import (
    Document,
    DocumentUnreadable,
    Writing,
    counted,
)
from apps.attachments.reading.office import Archive, Enough, relation_of

WORKBOOK, STRINGS, STYLES = "xl/workbook.xml", "xl/sharedStrings.xml", "xl/styles.xml"
MAX_SHEETS = 100
MAX_ROWS = 100_000
"""Of all sheets together."""
MAX_COLUMNS = 500
"""Of a row; cells after them are left out."""
DATE_FORMATS = frozenset([*range(14, 23), *range(45, 48)])
"""Numbers of the formats for dates and times that every workbook has."""
DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)
NO_DATE = re.compile(r'"[^"]*"|\[[^\[\]]*\]|\\.')
"""Parts of a format that say nothing of dates."""
DAY_ZERO = datetime(1899, 12, 30)  # noqa: DTZ001  a workbook knows no time zone
LAST_DAY = 2_958_465
"""The end of the year 9999."""


class _Book(NamedTuple):
    sheets: list[tuple[str, str]]
    """Name and part of each."""
    strings: list[str]
    dates: frozenset[int]
    """Styles of cells that show dates."""


def read_xlsx(archive: Archive) -> Document:
    """Return the values of all sheets, as many as fit. Raises: DocumentUnreadable."""
    book = _Book(_sheets(archive), _strings(archive), _date_styles(archive))
    writing, rows, is_whole = Writing(), 0, True
    for name, part in book.sheets:
        if writing.is_full or rows >= MAX_ROWS:
            is_whole = False
            break
        writing.add(f"[Sheet {name}]\n")
        sheet = _Sheet(book, writing, MAX_ROWS - rows)
        archive.parse(part, sheet.begin, sheet.end, sheet.text)
        rows += sheet.rows
        is_whole = is_whole and not sheet.is_cut
        writing.add("\n")
    if not rows:
        raise DocumentUnreadable("the workbook has no values")
    extent = f"{counted(len(book.sheets), 'sheet')}, {counted(rows, 'row')}"
    if is_whole and not writing.is_cut:
        return Document(writing.text, extent)
    cut = f"the first {counted(rows, 'row')} are included"
    return Document(writing.text, f"{extent} or more", cut)


class _Sheet:
    """Writes the rows of a sheet as its XML is read."""

    def __init__(self, book: _Book, writing: Writing, most_rows: int) -> None:
        self._book, self._writing, self._most = book, writing, most_rows
        self.rows = 0
        self.is_cut = False
        self._cells: list[str] = []
        self._kind, self._style, self._column = "", 0, 0
        self._value: list[str] = []
        self._is_value = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "row" and (self._writing.is_full or self.rows >= self._most):
            self.is_cut = True
            raise Enough
        if tag == "c":
            self._kind = attributes.get("t", "n")
            self._style = _whole(attributes.get("s", "0"))
            self._column = _column(attributes.get("r", ""), len(self._cells))
            self._value = []
        self._is_value = tag in ("v", "t")

    def end(self, tag: str) -> None:
        self._is_value = False
        if tag == "c":
            self._cell_add()
        elif tag == "row":
            if any(self._cells):
                self._writing.add("\t".join(self._cells).rstrip("\t") + "\n")
                self.rows += 1
            self._cells = []

    def text(self, piece: str) -> None:
        if self._is_value:
            self._value.append(piece)

    def _cell_add(self) -> None:
        if self._column >= MAX_COLUMNS:
            self.is_cut = True
            return
        value = self._shown("".join(self._value))
        self._cells += [""] * (self._column - len(self._cells))
        self._cells.append(" ".join(value.split()))

    def _shown(self, raw: str) -> str:
        if self._kind == "s":
            place = _whole(raw)
            strings = self._book.strings
            return strings[place] if place < len(strings) else ""
        if self._kind == "b":
            return "TRUE" if raw == "1" else "FALSE"
        if self._kind == "n" and self._style in self._book.dates:
            return _date(raw)
        return raw


def _sheets(archive: Archive) -> list[tuple[str, str]]:
    workbook = archive.main_part(WORKBOOK)
    relations = archive.relations(workbook)
    named: list[tuple[str, str]] = []

    def sheet(tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "sheet" and (relation := relations.get(relation_of(attributes))):
            named.append((attributes.get("name", ""), relation.part))

    archive.parse(workbook, sheet)
    if len(named) > MAX_SHEETS:
        raise DocumentUnreadable(f"the workbook has more than {MAX_SHEETS} sheets")
    return [(name, part) for name, part in named if "worksheets/" in part]


def _strings(archive: Archive) -> list[str]:
    if STRINGS not in archive.names:
        return []
    strings: list[str] = []
    pieces: list[str] = []
    is_text = False

    def begin(tag: str, _: Mapping[str, str]) -> None:
        nonlocal is_text
        is_text = tag == "t"
        if tag == "si":
            pieces.clear()

    def end(tag: str) -> None:
        nonlocal is_text
        is_text = False
        if tag == "si":
            strings.append("".join(pieces))

    def text(piece: str) -> None:
        if is_text:
            pieces.append(piece)

    archive.parse(STRINGS, begin, end, text)
    return strings


def _date_styles(archive: Archive) -> frozenset[int]:
    if STYLES not in archive.names:
        return frozenset()
    own: set[int] = set()
    formats: list[int] = []
    is_cell_format = False

    def begin(tag: str, attributes: Mapping[str, str]) -> None:
        nonlocal is_cell_format
        if tag == "numFmt":
            code = NO_DATE.sub("", attributes.get("formatCode", ""))
            if DATE_LETTERS.search(code):
                own.add(_whole(attributes.get("numFmtId", "0")))
        is_cell_format = is_cell_format or tag == "cellXfs"
        if tag == "xf" and is_cell_format:
            formats.append(_whole(attributes.get("numFmtId", "0")))

    def end(tag: str) -> None:
        nonlocal is_cell_format
        if tag == "cellXfs":
            is_cell_format = False

    archive.parse(STYLES, begin, end)
    dates = own | DATE_FORMATS
    return frozenset(i for i, number in enumerate(formats) if number in dates)


def _date(raw: str) -> str:
    try:
        days = float(raw)
    except ValueError:
        return raw
    if not 0 <= days <= LAST_DAY:
        return raw
    moment = DAY_ZERO + timedelta(seconds=round(days * 86_400))
    if days < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if days.is_integer() else moment.isoformat()


def _column(reference: str, following: int) -> int:
    """Return the column of a cell like `AB12`, from 0; `following`: it has no name."""
    number = 0
    for letter in reference[:3]:
        if not "A" <= letter <= "Z":
            break
        number = number * 26 + ord(letter) - ord("A") + 1
    return max(number - 1, following) if number else following


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
