"""Makes a checker of a JSON Schema that strangers wrote.

Nothing is ever fetched, patterns take time linear in the text, and the number of
references followed is counted, because a short schema can ask for more work than
anybody has time for: ten references that each lead to ten others, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
import orjson

MAX_DEPTH = 100
"""Nesting of a schema."""
MAX_PATTERN_BYTES = 1024 * 1024
"""Size of one compiled pattern."""
MAX_REFERENCES = 100_000
"""References followed to judge one answer; takes a tenth of a second."""
MAX_REFERENCES_TOLD = 500
"""The same for finding out what is wrong, which costs far more each."""
MAX_WORK = 4_000_000_000
"""Bytes of the schema times characters of the answer; half a second at the worst."""
MAX_WORK_TOLD = 1_000_000
"""The same for finding out all that is wrong, not just one mistake."""
MAX_PROBLEMS = 5
"""How many mistakes are told at once."""
MAX_PROBLEM_CHARS = 300

_DEFAULT = "https://json-schema.org/draft/2020-12/schema"
_DRAFT_7 = "http://json-schema.org/draft-07/schema"
_DRAFTS = {
    _DEFAULT: jsonschema_rs.Draft202012Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    _DRAFT_7: jsonschema_rs.Draft7Validator,
}
_BY_NAME = frozenset(
    {
        "properties",
        "patternProperties",
        "$defs",
        "definitions",
        "dependentSchemas",
        "dependencies",
    }
)
"""Keywords whose values are schemas by name."""
_DATA = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose values are no schemas, whatever they look like."""
_REFUSED = frozenset({"$dynamicRef", "$recursiveRef"})
_COUNTER = "conductor:followed"
_VALUE = "the value"


class TooComplex(Exception):
    """The answer can't be judged with a reasonable amount of work."""


class Checker:
    """Judges answers by one schema, given as JSON. Not for two threads at once.

    Raises: ValueError with a sentence if the schema can't be used.
    """

    def __init__(self, written: bytes) -> None:
        self._size = len(written)
        self._budget = _Budget()
        rules, draft = _prepared(orjson.loads(written))
        try:
            self._validator = _DRAFTS[draft](
                rules,
                mask=_VALUE,
                offline=True,
                keywords={_COUNTER: _counter(self._budget)},
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
        work = self._size * size
        self._budget.left = MAX_REFERENCES
        if work > MAX_WORK:
            raise TooComplex
        is_valid = self._validator.is_valid(answer)
        if self._budget.left < 0:
            raise TooComplex
        return [] if is_valid else self._explained(answer, work)

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


def _prepared(schema: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the schema with its references counted, and its draft's address."""
    draft = str(schema.get("$schema", _DEFAULT)).rstrip("#")
    if draft not in _DRAFTS:
        raise ValueError("$schema: expected draft 7, 2019-09 or 2020-12")
    root = {k: v for k, v in schema.items() if k not in ("$schema", "$id")}
    nodes = _Nodes(keeps_siblings=draft != _DRAFT_7)
    nodes.walk(root, 0)
    for reference in nodes.references:
        found = _target(root, reference)
        if not isinstance(found, bool) and id(found) not in nodes.schemas:
            raise ValueError(f"$ref: {reference[:100]!r} does not lead to a schema")
    return nodes.counted(root), draft


class _Nodes:
    """Finds every schema inside a schema, and the references among them."""

    def __init__(self, *, keeps_siblings: bool) -> None:
        self._keeps_siblings = keeps_siblings
        self.schemas: set[int] = set()
        self.references: list[str] = []

    def walk(self, schema: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError(f"the schema is nested more than {MAX_DEPTH} deep")
        if not isinstance(schema, dict):
            return
        self.schemas.add(id(schema))
        for keyword in ("$id", *_REFUSED):
            if isinstance(schema.get(keyword), str):
                raise ValueError(f"{keyword}: not supported here")
        reference = schema.get("$ref")
        if isinstance(reference, str):
            self.references.append(reference)
        for _, inner in _inner(schema):
            self.walk(inner, depth + 1)

    def counted(self, schema: Any) -> Any:
        """Return a copy in which every reference is counted before it is followed."""
        if not isinstance(schema, dict):
            return schema
        copy = dict(schema)
        for place, inner in _inner(schema):
            _put(copy, schema, place, self.counted(inner))
        if not isinstance(schema.get("$ref"), str):
            return copy
        followed = {
            "if": {_COUNTER: True},
            "then": {"$ref": copy.pop("$ref")},
            "else": False,
        }
        if not self._keeps_siblings:  # draft 7 ignores whatever stands beside a $ref
            copy = {k: v for k, v in copy.items() if k in ("$defs", "definitions")}
        copy["allOf"] = [*copy.get("allOf", ()), followed]
        return copy


Place = tuple[str, str | int | None]
"""A keyword, and the name or index of the schema in its value, if it has several."""


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    for keyword, value in schema.items():
        if keyword in _DATA:
            continue
        if keyword in _BY_NAME and isinstance(value, dict):
            for name, inner in value.items():
                yield (keyword, name), inner
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield (keyword, index), inner
        elif isinstance(value, dict):
            yield (keyword, None), value


def _put(copy: dict[str, Any], source: Mapping[str, Any], at: Place, new: Any) -> None:
    keyword, where = at
    if where is None:
        copy[keyword] = new
        return
    if copy[keyword] is source[keyword]:
        copy[keyword] = source[keyword].copy()
    copy[keyword][where] = new


def _target(root: Any, reference: str) -> Any:
    """Return what a reference leads to, None if nothing.

    Raises: ValueError if it leads out of the schema, or by name.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise ValueError(
            f"$ref: {reference[:100]!r}: expected a path inside the schema, as in "
            "'#/$defs/name'"
        )
    found = root
    for part in unquote(reference).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _told(error: jsonschema_rs.ValidationError) -> str:
    place = "".join(f"/{part}" for part in error.instance_path)
    words = error.message
    if len(words) > MAX_PROBLEM_CHARS:
        words = words[:MAX_PROBLEM_CHARS] + "…"
    return f"at {place[:MAX_PROBLEM_CHARS]}: {words}" if place else words
