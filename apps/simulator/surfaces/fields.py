"""Reading JSON fields of requests; each refusal names its field."""

from __future__ import annotations

from typing import Any

import orjson

from apps.simulator.pictures import BadPicture, Picture, from_base64, from_url
from apps.simulator.request import InvalidRequest, Tool


def load(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`. Raises: BadRequest."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest("the body is not valid JSON") from exc
    if not isinstance(data, dict):
        raise InvalidRequest("the body must be a JSON object")
    return data


def model_name(data: dict[str, Any]) -> str:
    """Return the field `model`. Raises: BadRequest."""
    name = data.get("model")
    if not isinstance(name, str) or not name:
        raise InvalidRequest("you must name a model", "model")
    return name


def objects(value: Any, param: str, *, may_be_empty: bool = True) -> list[Any]:
    """Return a list of JSON objects; None counts as empty. Raises: BadRequest."""
    items = [] if value is None else value
    if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
        raise InvalidRequest(f"{param} must be a list of objects", param)
    if not items and not may_be_empty:
        raise InvalidRequest(f"{param} must be a list of at least one object", param)
    return items


def whole_number(value: Any, param: str) -> int | None:
    """Return a number from 1, or None if there is none. Raises: BadRequest."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidRequest(f"{param} must be a whole number from 1", param)
    return value


def texts(value: Any, param: str) -> tuple[str, ...]:
    """Return a list of texts, or one text as such a list. Raises: BadRequest."""
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise InvalidRequest(f"{param} must be a string or a list of strings", param)
    return tuple(text for text in values if text)


def text(value: Any, param: str) -> str:
    """Return a text. Raises: BadRequest."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{param} must be a string", param)
    return value


def tool(value: dict[str, Any], schema_field: str, param: str) -> Tool:
    """Return the tool in `value`. Raises: BadRequest."""
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequest("a tool needs a name", f"{param}.name")
    schema = value.get(schema_field)
    if schema is not None and not isinstance(schema, dict):
        raise InvalidRequest(
            "a tool's parameters are a schema", f"{param}.{schema_field}"
        )
    return Tool(name, schema or {}, str(value.get("description") or ""))


def picture_at(url: Any, param: str) -> Picture:
    """Return the picture at `url`. Raises: BadRequest."""
    try:
        return from_url(text(url, param))
    except BadPicture as exc:
        raise InvalidRequest(str(exc), param) from exc


def picture_in(media_type: Any, data: Any, param: str) -> Picture:
    """Return the picture in base64 `data`. Raises: BadRequest."""
    try:
        return from_base64(text(media_type, param), text(data, param))
    except BadPicture as exc:
        raise InvalidRequest(str(exc), param) from exc
