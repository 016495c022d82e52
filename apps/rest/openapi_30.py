"""The OpenAPI 3.1 document as OpenAPI 3.0, for tools that read that alone or faster.

Source: https://spec.openapis.org/oas/v3.0.3#schema-object. It knows what this site's
document uses of JSON Schema 2020-12, and no more.
"""

from __future__ import annotations

from typing import Any

VERSION = "3.0.3"
NULL = {"type": "null"}
LITERAL = frozenset({"default", "enum", "example", "value"})
"""Keywords whose values are data of the API, not a part of its description."""


def as_openapi_30(document: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI 3.1 `document` as 3.0. Pure.

    Raises:
        ValueError: it allows several types at once, which 3.0 cannot say.
    """
    return {**_described(document), "openapi": VERSION}


def _described(node: Any) -> Any:
    """Return a part of the document: a schema, or what holds schemas."""
    if isinstance(node, list):
        return [_described(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node == NULL:
        return {"nullable": True, "enum": [None]}
    described: dict[str, Any] = {}
    for keyword, value in node.items():
        if keyword == "properties":
            described[keyword] = {
                name: _described(each) for name, each in value.items()
            }
        elif keyword == "type" and isinstance(value, list):
            described |= _nullable_type(value)
        elif keyword == "oneOf" and NULL in value:
            others = [_described(each) for each in value if each != NULL]
            described |= {"nullable": True, "oneOf": others}
        elif keyword == "examples" and isinstance(value, list):
            described["example"] = value[0]
        else:
            described[keyword] = value if keyword in LITERAL else _described(value)
    return described


def _nullable_type(types: list[str]) -> dict[str, Any]:
    match [each for each in types if each != "null"]:
        case [one]:
            return {"type": one, "nullable": "null" in types}
        case _:
            raise ValueError(f"OpenAPI {VERSION} has no word for the types {types}.")
