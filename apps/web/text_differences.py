"""What of a text stands in another one: by words, or by sentences if it is long. Pure.

The longest common subsequence, computed for 64 places at once in whole numbers, so the
work is bounded by the product of the lengths. Source: Hyyrö, Bit-Parallel LCS-length
Computation Revisited (2004).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

MOST_PARTS = 5_000
"""Words, or sentences, of one text."""
MOST_CHARACTERS = 100_000
_WORD = re.compile(r"(?:[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|[^\w\s])\s*")
_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?。！？]+|\n+|$)\s*")


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text."""

    text: str
    is_only_here: bool
    """True: the other text has nothing like it at this place."""


@dataclass(frozen=True, slots=True)
class Differences:
    """A text with what another one lacks."""

    pieces: tuple[TextPiece, ...]
    unit: str
    """words or sentences."""
    count: int
    """Of these, in the text."""
    only_here: int
    """Of these, the ones that the other text lacks."""


def differences(text: str, base: str) -> Differences | None:
    """Return what of a text the base lacks; None: they are too long to compare."""
    if max(len(text), len(base)) > MOST_CHARACTERS:
        return None
    for unit, pattern in (("words", _WORD), ("sentences", _SENTENCE)):
        parts, others = (_split(pattern, each) for each in (text, base))
        if max(len(parts), len(others)) <= MOST_PARTS:
            shared = _shared([p.strip() for p in parts], [p.strip() for p in others])
            lacking = len(parts) - sum(shared)
            return Differences(_merged(parts, shared), unit, len(parts), lacking)
    return None


def places_in_common(
    parts: Sequence[str], base: Sequence[str]
) -> list[tuple[int, int]]:
    """Return the longest common subsequence: of each part in it its place in either.

    The caller sees to it that there are at most MOST_PARTS on each side.
    """
    places: dict[str, int] = defaultdict(int)
    for place, part in enumerate(base):
        places[part] |= 1 << place
    full = (1 << len(base)) - 1
    row, rows = full, []
    for part in parts:
        common = row & places.get(part, 0)
        row = ((row + common) | (row - common)) & full
        rows.append(row)
    found = []
    i, j = len(parts), len(base)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
            continue
        i -= 1
        if not i or rows[i - 1] >> (j - 1) & 1:
            j -= 1
            found.append((i, j))
    return found[::-1]


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    lead = len(text) - len(text.lstrip())
    parts = [found for found in pattern.findall(text, lead) if found]
    if parts:
        parts[0] = text[:lead] + parts[0]
    return parts


def _shared(parts: Sequence[str], base: Sequence[str]) -> list[bool]:
    """Return of each part whether it is in the longest common subsequence."""
    found = {place for place, _ in places_in_common(parts, base)}
    return [place in found for place in range(len(parts))]


def _merged(parts: Sequence[str], shared: Sequence[bool]) -> tuple[TextPiece, ...]:
    pieces: list[TextPiece] = []
    for part, is_shared in zip(parts, shared, strict=True):
        if pieces and pieces[-1].is_only_here != is_shared:
            pieces[-1] = TextPiece(pieces[-1].text + part, not is_shared)
        else:
            pieces.append(TextPiece(part, not is_shared))
    return tuple(pieces)
