"""What a search finds, and how words are matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST = 6
"""Results of one kind that are shown."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found: where it is and what it is called."""

    title: str
    url: str
    note: str = ""
    """What tells it from others of its name."""
    also: str = ""
    """Other words it is found by, not shown."""


@dataclass(frozen=True, slots=True)
class HitGroup:
    """What was found of one kind."""

    title: str
    hits: Sequence[Hit]


def matching(hits: Iterable[Hit], words: Sequence[str]) -> list[Hit]:
    """Return those that have every word, best first: titles that begin with them.

    `words`: in lower case; none: all are returned as they come.
    """
    found = [hit for hit in hits if _has_all(hit, words)]
    return sorted(found, key=lambda hit: _rank(hit, words))[:MOST] if words else found


def _has_all(hit: Hit, words: Sequence[str]) -> bool:
    text = f"{hit.title} {hit.note} {hit.also}".lower()
    return all(word in text for word in words)


def _rank(hit: Hit, words: Sequence[str]) -> int:
    title = hit.title.lower()
    if title.startswith(words[0]):
        return 0
    return 1 if all(word in title for word in words) else 2
