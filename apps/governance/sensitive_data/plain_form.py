"""The plain form of a text, in which words and numbers are looked for.

A reader sees the same number whether its digits are full-width, stand on two lines or
have a zero-width character between them. The plain form has one writing for all of
these (NFKC, one blank for any white space, `-` for any dash, nothing for what is not
seen), and knows where its characters stand in the text itself. Linear. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
"""Soft hyphens, joiners, marks of direction and of variation: a class of characters."""
_BLANK = rf"\s{_UNSEEN}"
_UNUSUAL = re.compile(
    rf"(?P<blank>[ ](?=[{_BLANK}])[{_BLANK}]*|[^\S ][{_BLANK}]*|[{_UNSEEN}][{_BLANK}]*)"
    rf"|(?:(?![{_BLANK}])[^\x00-\x7f])+"
)
_DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0xFE31, 0xFE32, 0xFE58), "-")
_UNUSUAL_CHAR = re.compile(f"[{_UNSEEN}{''.join(map(chr, _DASHES))}]")


class _Piece(NamedTuple):
    """A part of the plain form, and the part of the text that it stands for."""

    plain: str
    start: int
    end: int
    is_verbatim: bool
    """True: it is the part of the text, character by character."""


@dataclass(frozen=True, slots=True)
class PlainForm:
    """The plain form of a text."""

    text: str
    _pieces: tuple[_Piece, ...]
    _starts: tuple[int, ...]
    """Where each piece begins in the plain form."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text itself a part of the plain form stands.

        `start` and `end` (not included) are of the plain form, `start` is less.
        """
        first, into_first = self._piece(start)
        last, into_last = self._piece(end - 1)
        begins = first.start + into_first if first.is_verbatim else first.start
        ends = last.start + into_last + 1 if last.is_verbatim else last.end
        return begins, ends

    def _piece(self, place: int) -> tuple[_Piece, int]:
        number = bisect_right(self._starts, place) - 1
        return self._pieces[number], place - self._starts[number]


def plain_form(text: str) -> PlainForm:
    """Return the plain form of a text."""
    pieces = tuple(piece for piece in _pieces(text) if piece.plain)
    starts: list[int] = []
    length = 0
    for piece in pieces:
        starts.append(length)
        length += len(piece.plain)
    return PlainForm("".join(p.plain for p in pieces), pieces, tuple(starts))


def plain_words(text: str) -> str:
    """Return the plain form of a text, as words are compared: case folded."""
    if not text.isascii():
        seen = _UNUSUAL_CHAR.sub(lambda found: _DASHES.get(ord(found[0]), ""), text)
        text = unicodedata.normalize("NFKC", seen)
    return " ".join(text.casefold().split())


def _pieces(text: str) -> Iterator[_Piece]:
    place = 0
    for found in _UNUSUAL.finditer(text):
        start, end = found.span()
        is_blank = found["blank"] is not None
        if not is_blank and start > place and unicodedata.combining(text[start]):
            start -= 1  # a letter and its accent are one character
        if start > place:
            yield _Piece(text[place:start], place, start, is_verbatim=True)
        if not is_blank:
            yield from _characters(text, start, end)
        else:
            has_space = any(map(str.isspace, found[0]))
            yield _Piece(" " if has_space else "", start, end, is_verbatim=False)
        place = end
    if place < len(text):
        yield _Piece(text[place:], place, len(text), is_verbatim=True)


def _characters(text: str, start: int, end: int) -> Iterator[_Piece]:
    """Yield the characters of a part of a text, each with its accents."""
    part = text[start:end]
    if _plain(part) == part:
        yield _Piece(part, start, end, is_verbatim=True)
        return
    begun = start
    for place in range(start + 1, end + 1):
        if place == end or not unicodedata.combining(text[place]):
            plain = _plain(text[begun:place])
            yield _Piece(plain, begun, place, is_verbatim=False)
            begun = place


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_DASHES)
