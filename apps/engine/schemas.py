"""Makes checkers of untrusted JSON Schemas.

Nothing is ever fetched, patterns take time linear in the text, and the number of
references followed is counted, because a short schema can take
unbounded work: ten references that each lead to ten others, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import jsonschema_rs
import orjson

from apps.engine.references import COUNTER, counted

MAX_PATTERN_BYTES = 512 * 1024
"""Size of one compiled pattern."""
MAX_PATTERNS = 32
"""Patterns of one schema: together they take a tenth of a second at the worst."""
MAX_REFERENCES = 100_000
"""References followed to judge one answer; takes a tenth of a second."""
MAX_REFERENCES_TOLD = 500
"""The same for finding out what is wrong, which costs far more each."""
MAX_WORK = 4_000_000_000
"""Bytes of the schema times characters of the answer; half a second at the worst."""
MAX_WORK_TOLD = 1_000_000
"""The same for finding out all that is wrong, not just one mistake."""
MAX_PROBLEMS = 5
"""The most mistakes in one message."""
MAX_PROBLEM_CHARS = 160

_CLASSES = {
    "draft 7": jsonschema_rs.Draft7Validator,
    "2019-09": jsonschema_rs.Draft201909Validator,
    "2020-12": jsonschema_rs.Draft202012Validator,
}
_VALUE = "the value"


class TooComplex(Exception):
    """The answer can't be judged with a reasonable amount of work."""


class Checker:
    """Judges answers by one schema, given as JSON. Not for two threads at once.

    Raises: ValueError with a sentence if the schema can't be used.
    """

    def __init__(self, written: bytes) -> None:
        self.size = len(written)
        """Of the schema, in bytes."""
        self._budget = _Budget()
        schema = orjson.loads(written)
        self.patterns = sum(1 for _ in _patterns(schema))
        if self.patterns > MAX_PATTERNS:
            raise ValueError(f"expected at most {MAX_PATTERNS} patterns in the schema")
        rules, draft = counted(schema)
        try:
            self._validator = _CLASSES[draft](
                rules,
                mask=_VALUE,
                offline=True,
                keywords={COUNTER: _counter(self._budget)},
                pattern_options=jsonschema_rs.RegexOptions(
                    size_limit=MAX_PATTERN_BYTES
                ),
            )
        except jsonschema_rs.ValidationError as exc:
            raise ValueError(f"the schema can't be used: {_told(exc)}") from None

    def problems(self, answer: Any, *, size: int) -> list[str]:
        """Return what is wrong with `answer`, nothing if it fits.

        `size` is the answer's length in characters. The words name places and rules,
        never values. Raises: TooComplex.
        """
        work = self.size * size
        self._budget.left = MAX_REFERENCES
        if work > MAX_WORK:
            raise TooComplex
        try:
            is_valid = self._validator.is_valid(answer)
            if self._budget.left < 0:
                raise TooComplex
            return [] if is_valid else self._explained(answer, work)
        except ValueError:  # nested deeper than the library goes
            raise TooComplex from None

    def _explained(self, answer: Any, work: int) -> list[str]:
        self._budget.left = MAX_REFERENCES_TOLD
        find = self._all if work <= MAX_WORK_TOLD else self._first
        problems = [_told(error) for error in find(answer)]
        if self._budget.left < 0:  # some of these are not the answer's mistakes
            return ["a part of it breaks the rules it refers to"]
        return problems

    def _all(self, answer: Any) -> list[jsonschema_rs.ValidationError]:
        return list(islice(self._validator.iter_errors(answer), MAX_PROBLEMS))

    def _first(self, answer: Any) -> list[jsonschema_rs.ValidationError]:
        try:
            self._validator.validate(answer)
        except jsonschema_rs.ValidationError as exc:
            return [exc]
        return []


class _Budget:
    left = 0


def _counter(budget: _Budget) -> type[jsonschema_rs.KeywordValidator]:
    class Counter:
        def __init__(self, parent: object, value: object, path: object) -> None:
            """Take what the library gives."""

        def validate(self, instance: object) -> None:
            budget.left -= 1
            if budget.left < 0:
                raise ValueError("too many references")

    return Counter


def _patterns(schema: Any) -> Iterator[str]:
    """Yield every regular expression of a schema, and at times what only looks so."""
    open_ = [schema]
    while open_:
        part = open_.pop()
        if isinstance(part, list):
            open_ += part
        elif isinstance(part, dict):
            open_ += part.values()
            if isinstance(pattern := part.get("pattern"), str):
                yield pattern
            if isinstance(by_pattern := part.get("patternProperties"), dict):
                yield from by_pattern


def _told(error: jsonschema_rs.ValidationError) -> str:
    place = "".join(f"/{part}" for part in error.instance_path)
    words = error.message
    if len(words) > MAX_PROBLEM_CHARS:
        words = words[:MAX_PROBLEM_CHARS] + "…"
    return f"at {place[:MAX_PROBLEM_CHARS]}: {words}" if place else words
