"""Groups of values that pages, programs and files send, read in their shape.

Guarantees: what `values_read` returns is of the right shape and within bounds; every
fault is told by its field, and none quotes what was sent. Knows no database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import re2
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from apps.core.errors import InvalidFields

MAX_FAULTS = 50
"""More have no use."""
MAX_PATTERN_MEMORY = 1 << 20
"""Bytes that one compiled pattern may take."""


class InputPart(BaseModel):
    """A group of fields; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


InputT = TypeVar("InputT", bound=InputPart)


def values_read(shape: type[InputT], values: Mapping[str, Any]) -> InputT:
    """Return `values` in their shape. Raises: InvalidFields."""
    try:
        return shape.model_validate(dict(values))
    except ValidationError as exc:
        faults = list(faults_of(exc))[:MAX_FAULTS]
    # Raised out here: the original error holds what was sent, secrets included.
    fields: dict[str, list[str]] = {}
    for path, why in faults:
        fields.setdefault(path or "values", []).append(why)
    raise InvalidFields(fields)


def one_line(text: str) -> str:
    """Refuse a text with line breaks or control characters."""
    if not text.isprintable():
        raise PydanticCustomError("text", "must be one line without control characters")
    return text


def regular_expression(pattern: str) -> str:
    """Refuse a pattern that RE2 does not take, with its reason."""
    try:
        pattern_compiled(pattern)
    except re2.error as exc:
        why = exc.args[0] if exc.args else "it cannot be compiled"
        raise PydanticCustomError(
            "pattern",
            "is not a valid pattern of RE2: {why}",
            {"why": why.decode(errors="replace") if isinstance(why, bytes) else why},
        ) from None
    return pattern


@lru_cache(maxsize=1_000)
def pattern_compiled(pattern: str) -> Any:
    """Return what searches a text in time linear in its length. Raises: re2.error.

    RE2 matches it, so no pattern that people write can stop a process.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_PATTERN_MEMORY
    return re2.compile(pattern, options)


def faults_of(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield each fault's path (`workers[2].price.input`) and what is wrong there."""
    for fault in error.errors(include_url=False, include_input=False):
        known = fault.get("ctx", {}).get("expected_tags", "")
        yield _path(fault["loc"]), _message(fault["type"], fault["msg"], known)


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += f".{part}" if path else part
    return path


def _message(kind: str, message: str, known: str) -> str:
    if kind == "union_tag_invalid":  # its own message quotes what was sent
        return f"expected the kind to be one of {known}"
    if kind == "extra_forbidden":
        return "there is no such field"
    if kind == "string_pattern_mismatch":
        return "use letters, digits, '.', '_' and '-', beginning with a letter or digit"
    return message[:1].lower() + message[1:] if kind != "together" else message
