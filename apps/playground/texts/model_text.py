"""Renders texts of models: formatted, or plain if formatting would take too long.

Guarantees that drawing a text takes a bounded time, here and in the browser. The server
formats no more than a budget allows. For the browser a long text comes in pieces, of
which it lays out those in sight: short ones where scripts and directions may change
often, since a piece takes the square of their changes. And it comes without kerning and
ligatures: with them a line of a text that has no spaces is measured anew from every
place where it may be broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.utils.safestring import SafeString

from apps.playground.texts import markdown

AT_ONCE_US = 80_000
"""Budget of each text of a page; about 50 kB of ordinary Markdown."""
ON_REQUEST_US = 80_000
"""Budget of one text whose reader has asked for its formatting."""
GROWING_US = 20_000
"""Budget of a text that is formatted again and again while it is written."""
LONG = 20_000
"""Characters from which on a text comes in pieces."""
MANY_FOREIGN = 3_000
"""Characters beyond Latin-1 from which on a text counts as dense."""
PIECE = 16_000
SHORT_PIECE = 2_000
FOREIGN_IN_PIECE = 1_000
"""Characters beyond Latin-1 from which on pieces are short."""
_UNBROKEN = re.compile(r"(?<![^ \t\n])[^ \t\n]{300}")
"""No word of a language: the start of a run in which lines have no place to break."""


@dataclass(frozen=True, slots=True)
class DrawnText:
    """A text of a model, ready for a page."""

    html: SafeString
    """The formatted part, from the start; empty if there is none."""
    plain: str
    """The rest, which is shown as it is."""
    is_dense: bool
    """True if the browser must not spend time on its typography."""
    is_cut: bool = False
    """True if more follows, which is not here."""

    @property
    def pieces(self) -> tuple[str, ...]:
        """Return the plain part in pieces."""
        return tuple(in_pieces(self.plain))


def draw_at_once(text: str, place: str = "") -> DrawnText:
    """Return a text formatted if that is cheap, plain otherwise.

    `place`: as `markdown.render` takes it.
    """
    if markdown.formattable(text, AT_ONCE_US) < len(text):
        return DrawnText(SafeString(), text, is_dense=True)
    return DrawnText(markdown.render(text, place), "", is_dense(text))


def draw_part(text: str, place: str = "") -> DrawnText:
    """Return a text beside others of its page: of what is not cheap, the beginning."""
    drawn = draw_at_once(text, place)
    beginning = next(in_pieces(drawn.plain), "")
    if beginning == drawn.plain:
        return drawn
    return replace(drawn, plain=beginning, is_cut=True)


def draw_on_request(text: str, place: str = "") -> DrawnText:
    """Return a text formatted as far as one request may."""
    cut = markdown.formattable(text, ON_REQUEST_US)
    html = markdown.render(text[:cut], place) if cut else SafeString()
    return DrawnText(html, text[cut:], is_dense(text))


def is_growable(text: str) -> bool:
    """Say whether a text may be formatted while it is being written."""
    return not is_dense(text) and markdown.formattable(text, GROWING_US) >= len(text)


def is_dense(text: str) -> bool:
    """Say whether the browser must not spend time on a text's typography."""
    return (
        len(text) > LONG
        or markdown.foreign(text) > MANY_FOREIGN
        or _UNBROKEN.search(text) is not None
    )


def in_pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces, cut at ends of lines, else of words, where possible."""
    start = 0
    while start < len(text):
        end = start + PIECE
        if markdown.foreign(text[start:end]) > FOREIGN_IN_PIECE:
            end = start + SHORT_PIECE
        if end < len(text):
            ends = (text.rfind(mark, start, end) + 1 for mark in "\n ")
            end = next(filter(None, ends), end)
        yield text[start:end]
        start = end
