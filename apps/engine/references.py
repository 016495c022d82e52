"""Reads the references of a JSON Schema, and has each of them counted when followed.

Only paths inside the schema itself are understood. A reference that could not be
counted, because it leads to something that is no schema, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

COUNTER = "conductor:followed"
"""The keyword that is judged before a reference is followed, and may say no."""
MAX_DEPTH = 100
"""Nesting of a schema."""

_DRAFTS = {
    "http://json-schema.org/draft-07/schema": "draft 7",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
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
_OF_THE_SAME_VALUE = frozenset(
    {
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "dependencies",
    }
)
"""Keywords whose schemas judge the value itself, not a part of it."""
_REFUSED = frozenset({"$dynamicRef", "$recursiveRef"})


def counted(schema: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return a copy of `schema` that counts its references, and its draft.

    The draft is "draft 7", "2019-09" or "2020-12". Raises: ValueError with a sentence.
    """
    address = schema.get("$schema", "https://json-schema.org/draft/2020-12/schema")
    draft = _DRAFTS.get(str(address).rstrip("#"))
    if draft is None:
        raise ValueError("$schema: expected draft 7, 2019-09 or 2020-12")
    root = {k: v for k, v in schema.items() if k not in ("$schema", "$id")}
    _Walk(root).check()
    return _with_counters(root, keeps_siblings=draft != "draft 7"), draft


class _Walk:
    """Finds every schema inside a schema, and what it is made of."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts: dict[int, list[int]] = {}
        """By the `id` of each schema: those that judge the same value as it does."""
        self._references: dict[int, str] = {}

    def check(self) -> None:
        self._visit(self._root, 0)
        for schema, reference in self._references.items():
            self._parts[schema].append(self._followed(reference))
        try:
            TopologicalSorter(self._parts).prepare()
        except CycleError:
            raise ValueError(
                "$ref: a value would be judged by itself, for ever"
            ) from None

    def _followed(self, reference: str) -> int:
        found = _target(self._root, reference)
        if not isinstance(found, bool) and id(found) not in self._parts:
            raise ValueError(f"$ref: {reference[:100]!r} does not lead to a schema")
        return id(found)

    def _visit(self, schema: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError(f"the schema is nested more than {MAX_DEPTH} deep")
        if not isinstance(schema, dict):
            return
        for keyword in ("$id", *_REFUSED):
            if isinstance(schema.get(keyword), str):
                raise ValueError(f"{keyword}: not supported here")
        if isinstance(schema.get("$ref"), str):
            self._references[id(schema)] = schema["$ref"]
        parts = self._parts[id(schema)] = []
        for (keyword, _), inner in _inner(schema):
            if keyword in _OF_THE_SAME_VALUE:
                parts.append(id(inner))
            self._visit(inner, depth + 1)


def _with_counters(schema: Any, *, keeps_siblings: bool) -> Any:
    if not isinstance(schema, dict):
        return schema
    copy = dict(schema)
    for place, inner in _inner(schema):
        new = _with_counters(inner, keeps_siblings=keeps_siblings)
        _put(copy, schema, place, new)
    if not isinstance(schema.get("$ref"), str):
        return copy
    followed = {
        "if": {COUNTER: True},
        "then": {"$ref": copy.pop("$ref")},
        "else": False,
    }
    if not keeps_siblings:  # draft 7 ignores whatever stands beside a $ref
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
