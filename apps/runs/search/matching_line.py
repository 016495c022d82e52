"""The line of a text for which a search found it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from apps.runs.search.words import words_in

MAX_LINE_CHARACTERS = 90
MAX_CHARACTERS_BEFORE = 24
MAX_LINES_READ = 2_000
"""Lines of all texts together; the line of a longer one may not be the best."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class MatchingLine:
    """A line with the first word that was looked for, cut to what a list shows."""

    before: str
    word: str
    after: str


def matching_line(texts: Iterable[str], sought: Collection[str]) -> MatchingLine | None:
    """Return the first line with the most words of `sought`; None: no line has any.

    `sought`: words in the form in which `words_in` yields them.
    """
    words = set(sought)
    best, most = "", 0
    lines = (line for text in texts for line in text.splitlines())
    for line, _ in zip(lines, range(MAX_LINES_READ), strict=False):
        number = len(words.intersection(words_in(line)))
        if number > most:
            best, most = line, number
        if most == len(words):
            break
    return _cut(" ".join(best.split()), words) if most else None


def _cut(line: str, sought: set[str]) -> MatchingLine:
    """Return the part of a line around the first word of `sought` in it."""
    start, end = next(
        (
            word.span()
            for word in _WORD.finditer(line)
            if sought.intersection(words_in(word[0]))
        ),
        (0, 0),
    )
    start, end = _narrowed(line, start, end, sought)
    before, after = line[:start], line[end:]
    if len(before) > MAX_CHARACTERS_BEFORE:
        before = "… " + before[-MAX_CHARACTERS_BEFORE:].partition(" ")[2]
    room = MAX_LINE_CHARACTERS - len(before) - (end - start)
    if len(after) > room:
        after = after[: max(room, 0)] + "…"
    return MatchingLine(before, line[start:end], after)


def _narrowed(line: str, start: int, end: int, sought: set[str]) -> tuple[int, int]:
    """Return the place of what was looked for in a word of a script without spaces."""
    word = line[start:end].casefold()
    part = max((some for some in sought if some in word), key=len, default="")
    if not part:  # it is written in other signs, such as wide ones: all of it is shown
        return start, min(end, start + MAX_LINE_CHARACTERS)
    begin = start + word.find(part)
    return begin, min(begin + len(part), end)
