"""Checks a final answer against the `response_format` the caller asked for.

References to anything outside the schema are refused, nothing is ever fetched, and
patterns run in time linear in the text. What an answer's problem is said to be names
places and rules, never the answer's values: the words end up in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

from apps.engine.ports import Message, Messages

MAX_SCHEMA_BYTES = 256 * 1024
MAX_PATTERN_BYTES = 1024 * 1024
"""Size of one compiled pattern."""
MAX_PROBLEMS = 5
"""How many mistakes are told at once."""
MAX_PROBLEM_CHARS = 300
_VALUE = "the value"


def problem_of(text: str, response_format: Mapping[str, Any] | None) -> str | None:
    """Return what is wrong with an answer in one sentence, None if nothing is.

    Raises: ValueError if the schema itself is no good; `check_schema` finds that out
    before a run begins.
    """
    if response_format is None or not is_checked(response_format):
        return None
    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        return f"it is not JSON ({exc.msg} at character {exc.pos + 1})"
    if response_format["type"] == "json_object":
        return None if isinstance(answer, dict) else "it is JSON, but not an object"
    return _mismatch(answer, response_format["json_schema"].get("schema") or {})


def is_checked(response_format: Mapping[str, Any] | None) -> bool:
    """Say whether an answer in this format can be wrong."""
    kind = (response_format or {}).get("type", "text")
    return kind in ("json_object", "json_schema")


def repair_messages(messages: Messages, answer: str, problem: str) -> Messages:
    """Return the conversation that asks a model to put its answer right."""
    request = (
        f"Your answer can't be used: {problem}. Write the whole answer again as JSON "
        "without that mistake, and nothing else: no explanation and no code fence."
    )
    return (
        *messages,
        Message(role="assistant", content=answer),
        Message(role="user", content=request),
    )


def check_schema(schema: object) -> None:
    """Refuse a JSON Schema that can't be used. Raises: ValueError with a sentence."""
    if not isinstance(schema, dict):
        raise ValueError("expected a JSON Schema as an object")
    written = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    if len(written) > MAX_SCHEMA_BYTES:
        raise ValueError(f"expected at most {MAX_SCHEMA_BYTES} bytes of schema")
    _validator(written)


def _mismatch(answer: Any, schema: Mapping[str, Any]) -> str | None:
    validator = _validator(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))
    if validator.is_valid(answer):
        return None
    problems = []
    for error in validator.iter_errors(answer):
        problems.append(_told(error))
        if len(problems) == MAX_PROBLEMS:
            break
    return "it does not fit the schema: " + "; ".join(problems)


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            orjson.loads(schema),
            mask=_VALUE,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES),
        )
    except jsonschema_rs.ValidationError as exc:
        raise ValueError(f"the schema can't be used: {_told(exc)}") from None


def _told(error: jsonschema_rs.ValidationError) -> str:
    place = "".join(f"/{part}" for part in error.instance_path)
    words = (
        error.message
        if len(error.message) <= MAX_PROBLEM_CHARS
        else (error.message[:MAX_PROBLEM_CHARS] + "…")
    )
    return f"at {place}: {words}" if place else words
