"""What an entry says, in words: its facts, what changed, and a summary on one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

SUMMARY_FACTS = 3
VALUE_LENGTH = 60
"""Characters of a value in the summary of an entry."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that an entry says was changed."""

    path: str
    before: str
    after: str


def differences_of(data: Mapping[str, Any]) -> list[Difference]:
    """Return what the facts of an entry say was changed, value by value."""
    before, after = (_part(data.get(name)) for name in ("before", "after"))
    olds, news = dict(_leaves(before)), dict(_leaves(after))
    return [
        Difference(path, _words(olds.get(path)), _words(news.get(path)))
        for path in {**olds, **news}
        if olds.get(path) != news.get(path)
    ]


def facts_of(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return all facts but what was changed, by name, in words."""
    told = {
        name: value for name, value in data.items() if name not in ("before", "after")
    }
    return [(path, _words(value)) for path, value in _leaves(told)]


def summary_of(data: Mapping[str, Any]) -> str:
    """Return the first of its changes, or of its facts, each cut to a few words."""
    changed = differences_of(data)
    if "after" in data and changed:
        told = [
            f"{each.path}: {_short(each.before)} → {_short(each.after)}"
            for each in changed
        ]
    else:
        told = [f"{name}: {_short(value)}" for name, value in facts_of(data)]
    more = len(told) - SUMMARY_FACTS
    return "; ".join(told[:SUMMARY_FACTS]) + (f"; {more} more" if more > 0 else "")


def _part(value: Any) -> Any:
    return value if isinstance(value, Mapping) else {}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value below `value` with its path; lists of plain values are one."""
    if isinstance(value, Mapping) and value:
        for name, below in value.items():
            yield from _leaves(below, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(v, Mapping | list) for v in value):
        for number, below in enumerate(value, 1):
            yield from _leaves(below, f"{path} {number}")
    elif path:
        yield path, value


def _words(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and not any(
        isinstance(v, Mapping | list) for v in value
    ):
        return ", ".join(str(each) for each in value) or "none"
    if isinstance(value, str | int):
        return str(value) or "empty"
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= VALUE_LENGTH else line[: VALUE_LENGTH - 1] + "…"
