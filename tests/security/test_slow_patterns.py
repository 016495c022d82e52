"""No text makes a regular expression of the site slow, whoever has sent it.

Every pattern of a module is tried on texts made from its own parts (`slow_texts.py`),
in the ways in which the code uses it. So this is the list of all that meet foreign
text: it leaves out only what `OUR_OWN` names.
"""

from __future__ import annotations

import ast
import functools
import gc
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.security.slow_texts import slow_texts
from tests.test_process_state import modules

SHORT_CHARS, LONG_CHARS = 500, 200_000
MAX_RATIO = 5
"""How much longer than `PLAIN` a pattern may take for a text of the same length."""
TRIES = 10
"""One fast one is enough: others may have shared the processor's caches."""
PLAIN = re.compile("[a-z]")
"""A pattern that matches at every character, and so takes its time for each."""
MATCH, FULLMATCH, SEARCH = "match", "fullmatch", "search"
METHODS = {
    "match": MATCH,
    "fullmatch": FULLMATCH,
    **dict.fromkeys(("search", "finditer", "findall", "sub", "subn", "split"), SEARCH),
}
OUR_OWN = {
    "apps.web.documentation.library._HEADING": "lines of the documentation",
    "apps.web.documentation.library._MARKS": "headings of the documentation",
}
"""Patterns that meet no foreign text, and what they meet."""


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return every pattern of the modules, by the name where it stands first."""
    names: dict[re.Pattern[Any], str] = {}
    for module in modules():
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                for place, pattern in _inside(value, f"{module.__name__}.{name}"):
                    names.setdefault(pattern, place)
    return {name: pattern for pattern, name in names.items()}


def _inside(value: Any, place: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, re.Pattern):
        yield place, value
    elif depth > 3 or isinstance(value, type):
        return
    elif isinstance(value, list | tuple | frozenset | set):
        for number, each in enumerate(value):
            yield from _inside(each, f"{place}[{number}]", depth + 1)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _inside(each, f"{place}[{key!r}]", depth + 1)
    elif fields := getattr(type(value), "__dataclass_fields__", None):
        for field in fields:
            yield from _inside(getattr(value, field), f"{place}.{field}", depth + 1)


@functools.cache
def methods() -> Mapping[str, set[str]]:
    """Return how the code of the site uses a pattern, by the last part of its name."""
    found: dict[str, set[str]] = {}
    for module in modules():
        tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                target = node.value
                name = getattr(target, "id", None) or getattr(target, "attr", None)
                if name is not None:
                    found.setdefault(name, set()).add(METHODS[node.attr])
    return found


def uses(name: str, pattern: re.Pattern[Any]) -> list[Callable[[Any], object]]:
    """Return how to use a pattern as the site does; in doubt it searches."""
    ways = methods().get(name.rpartition(".")[2], {SEARCH})
    calls: dict[str, Callable[[Any], object]] = {
        MATCH: pattern.match,
        FULLMATCH: pattern.fullmatch,
        SEARCH: lambda text: sum(1 for _ in pattern.finditer(text)),
    }
    return [calls[way] for way in ways]


def cpu_s(use: Callable[[Any], object], text: str | bytes) -> float:
    """Return how much processor time a use of a pattern takes."""
    begun = time.thread_time()
    use(text)
    return time.thread_time() - begun


def allowed_s() -> float:
    """Return the processor time that this machine, at its present pace, allows."""
    text = "a" * LONG_CHARS
    return MAX_RATIO * cpu_s(lambda t: sum(1 for _ in PLAIN.finditer(t)), text)


def worst(name: str, pattern: re.Pattern[Any], limit_s: float) -> tuple[float, str]:
    """Return the processor time on the slowest text, and how that text is made."""
    candidates = [
        (cpu_s(use, _of_kind(pattern, text.of_length(SHORT_CHARS))), use, text)
        for use in uses(name, pattern)
        for text in slow_texts(pattern)
    ]
    taken_s, use, text = max(candidates, key=lambda each: each[0])
    if taken_s <= limit_s:
        sized = _of_kind(pattern, text.of_length(LONG_CHARS))
        for _ in range(TRIES):
            taken_s = cpu_s(use, sized)
            if taken_s < limit_s:
                break
    return taken_s, repr(text)


def _of_kind(pattern: re.Pattern[Any], text: str) -> str | bytes:
    is_text = isinstance(pattern.pattern, str)
    return text if is_text else text.encode("latin-1", "replace")


@pytest.mark.parametrize("name", sorted(patterns().keys() - OUR_OWN.keys()))
def test_no_text_is_slow_to_search(name):
    pattern = patterns()[name]
    gc.disable()
    try:
        limit_s = allowed_s()
        taken_s, text = worst(name, pattern, limit_s)
    finally:
        gc.enable()
    assert taken_s < limit_s, (
        f"{taken_s:.2f} of {limit_s:.2f} s for {text} ({pattern.pattern!r:.200})"
    )
