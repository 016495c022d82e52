"""Makes the texts that a regular expression may be slow on, from its own parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from re import _constants as op
from re import _parser as parser
from typing import Any

BREAKERS = ("", "\n\x00", "a")
"""What may end a text so that no match ends there."""
LETTERS = "a0 -_.\n\t\"'«é9Z\\{*#`,:/"
"""Characters that a class is asked for, in this order."""
Nodes = Sequence[tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class SlowText:
    """A text of any length: a unit again and again, between a lead and a breaker."""

    lead: str
    unit: str
    breaker: str

    def of_length(self, chars: int) -> str:
        """Return the text with about so many characters."""
        room = max(chars - len(self.lead) - len(self.breaker), len(self.unit))
        return self.lead + self.unit * (room // len(self.unit)) + self.breaker


def slow_texts(pattern: re.Pattern[Any]) -> Iterator[SlowText]:
    """Yield texts that a pattern may be slow on, each once.

    Each prefix of the pattern is matched once or again and again, and each part of the
    pattern is repeated after the prefix that leads to it.
    """
    source = pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    flags = pattern.flags & ~(re.UNICODE | re.LOCALE)
    yield from dict.fromkeys(
        SlowText(lead, unit, breaker)
        for prefix, part in _steps(parser.parse(text, flags), "")
        for lead, unit in ((prefix, part), ("", prefix + part), ("", part))
        for breaker in BREAKERS
        if unit
    )


def _steps(nodes: Nodes, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield what leads to a part, and the part, for each part of a pattern."""
    for node in nodes:
        name, value = node
        part = _sample([node])
        if name in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield prefix, part
            yield from _steps(value[2], prefix)
        elif name is op.SUBPATTERN:
            yield from _steps(value[-1], prefix)
        elif name is op.ATOMIC_GROUP:
            yield from _steps(value, prefix)
        elif name is op.BRANCH:
            for branch in value[1]:
                yield from _steps(branch, prefix)
        elif name in (op.ASSERT, op.ASSERT_NOT):
            yield from _steps(value[1], prefix)
        prefix += part
    yield "", prefix


def _sample(nodes: Nodes) -> str:
    """Return a text that these nodes match, as far as that is known."""
    return "".join(_one(*node) for node in nodes)


def _one(name: Any, value: Any) -> str:
    if name is op.LITERAL:
        return chr(value)
    if name is op.NOT_LITERAL:
        return next(each for each in LETTERS if each != chr(value))
    if name is op.ANY:
        return "a"
    if name is op.IN:
        return _of_class(value)
    if name in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        least, _, body = value
        return _sample(body) * min(max(int(least), 1), 100)
    if name is op.SUBPATTERN:
        return _sample(value[-1])
    if name is op.ATOMIC_GROUP:
        return _sample(value)
    if name is op.BRANCH:
        return _sample(value[1][0])
    return ""


def _of_class(members: Nodes) -> str:
    """Return a character of a class."""
    source = "".join(map(_class_source, members))
    compiled = re.compile(f"[{source}]")
    for each in (*LETTERS, *map(chr, range(0x20, 0x250))):
        if compiled.match(each):
            return str(each)
    name, value = members[-1]
    return chr(int(value[0] if name is op.RANGE else value))


_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


def _class_source(name_and_value: tuple[Any, Any]) -> str:
    name, value = name_and_value
    if name is op.NEGATE:
        return "^"
    if name is op.CATEGORY:
        return str(_CATEGORIES[value])
    if name is op.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return re.escape(chr(value))
