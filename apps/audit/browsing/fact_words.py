"""What an entry says, in words: its facts, what changed, and a summary on one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.translation import gettext_noop as _

from apps.core.money import usd_text

Say = Callable[[str], str]
MICROS = "_micros"
"""Ends the names of facts that are micro-dollars; in words they are dollars."""
SUMMARY_FACTS = 3
VALUE_LENGTH = 60
"""Characters of a value in the summary of an entry."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?(?:Z|\+00:00)")
_ID = re.compile(r"(?:\w+:)?[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An id or a digest: exact, but it says little to a reader."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that an entry says was changed."""

    name: str
    before: str
    after: str


def differences_of(data: Mapping[str, Any], say: Say = str) -> list[Difference]:
    """Return what the facts of an entry say was changed, value by value.

    `say` translates the words of pages. Exports are in English.
    """
    before, after = (_part(data.get(name)) for name in ("before", "after"))
    olds, news = dict(_leaves(before)), dict(_leaves(after))
    return [
        Difference(
            _name(path),
            _words(path, olds.get(path), say),
            _words(path, news.get(path), say),
        )
        for path in {**olds, **news}
        if olds.get(path) != news.get(path)
    ]


def facts_of(data: Mapping[str, Any], say: Say = str) -> list[tuple[str, str]]:
    """Return all facts but what was changed, by name, in words."""
    told = {
        name: value for name, value in data.items() if name not in ("before", "after")
    }
    return [(_name(path), _words(path, value, say)) for path, value in _leaves(told)]


def summary_of(data: Mapping[str, Any], say: Say = str) -> str:
    """Return the first of its changes, or of its facts, each cut to a few words.

    Ids and digests come last.
    """
    changed = differences_of(data, say)
    if "after" in data and changed:
        told = [
            f"{each.name}: {_short(each.before)} → {_short(each.after)}"
            for each in sorted(changed, key=lambda each: _is_id(each.after))
        ]
    else:
        facts = sorted(facts_of(data, say), key=lambda fact: _is_id(fact[1]))
        told = [f"{name}: {_short(value)}" for name, value in facts]
    more = len(told) - SUMMARY_FACTS
    rest = [say(_("{number} more")).format(number=more)] if more > 0 else []
    return "; ".join(told[:SUMMARY_FACTS] + rest)


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


def _name(path: str) -> str:
    """Return the path of a fact as people read it: `limits.max_cost_micros`."""
    return path.removesuffix(MICROS).replace("_", " ").replace(".", " › ")


def _is_id(words: str) -> bool:
    return all(_ID.fullmatch(word) for word in words.split(", "))


def _words(path: str, value: Any, say: Say) -> str:
    if value is None:
        return say(_("nothing"))
    if isinstance(value, bool):
        return say(_("yes") if value else _("no"))
    if path.endswith(MICROS) and isinstance(value, int):
        return f"${usd_text(value)}"
    if isinstance(value, str) and (time := _TIME.fullmatch(value)):
        return f"{time[1]} {time[2]} UTC"
    if value == {}:
        return say(_("none"))
    if isinstance(value, list) and not any(
        isinstance(v, Mapping | list) for v in value
    ):
        return ", ".join(str(each) for each in value) or say(_("none"))
    if isinstance(value, str | int):
        return str(value) or say(_("empty"))
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= VALUE_LENGTH else line[: VALUE_LENGTH - 1] + "…"
