"""Checks a final answer against the `response_format` the caller asked for.

What is said to be wrong names places and rules, never the answer's values: the words
go into the ledger. `schemas.py` keeps hostile schemas from doing harm.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import orjson

from apps.engine.ports import Message, Messages
from apps.engine.schemas import Checker, TooComplex
from apps.engine.text import without_fences

ANSWER = (
    "Write the whole answer again as JSON without that mistake, and nothing else: no "
    "explanation and no code fence."
)
PLAN = "Write the complete plan again, without that mistake."
MAX_SCHEMA_BYTES = 128 * 1024
MAX_KEPT_WEIGHT = 128
"""Of checkers kept in memory: one each, one for each of their patterns, and one for
each `WEIGHT_BYTES` of the schema. Comes to 64 MB at the worst."""
WEIGHT_BYTES = 2048


def problem_of(text: str, response_format: Mapping[str, Any] | None) -> str | None:
    """Return what is wrong with an answer in one sentence, None if nothing is.

    Raises: ValueError if the schema itself is no good; `check_schema` finds that out
    before a run begins.
    """
    kind = response_format["type"] if response_format else "text"
    if response_format is None or kind == "text":
        return None
    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        return f"it is not JSON: {exc.msg} at character {exc.pos + 1}"
    if kind == "json_object":
        return None if isinstance(answer, dict) else "it is JSON, but not an object"
    schema = response_format["json_schema"].get("schema")
    return None if schema is None else _mismatch(answer, len(text), schema)


def delivered(text: str, response_format: Mapping[str, Any] | None) -> str:
    """Return an answer as its caller gets it: JSON without fences around it.

    The record of the step keeps what the model wrote.
    """
    kind = response_format["type"] if response_format else "text"
    return text if kind == "text" else without_fences(text)


def repair_messages(
    messages: Messages, answer: str, problem: str, what: str = ANSWER
) -> Messages:
    """Return the conversation that asks a model to put its answer right.

    `what` says what it is to write: ANSWER or PLAN.
    """
    request = f"Your answer can't be used: {problem}. {what}"
    return (
        *messages,
        Message(role="assistant", content=answer),
        Message(role="user", content=request),
    )


def check_schema(schema: object) -> None:
    """Refuse a JSON Schema that can't be used. Raises: ValueError with a sentence."""
    if not isinstance(schema, dict):
        raise ValueError("expected a JSON Schema as an object")
    _checker(_written(schema))


def _mismatch(answer: Any, size: int, schema: Mapping[str, Any]) -> str | None:
    try:
        problems = _checker(_written(schema)).problems(answer, size=size)
    except TooComplex:
        return "it is too long or too deeply nested to be checked against the schema"
    return "it does not fit the schema: " + "; ".join(problems) if problems else None


def _written(schema: Mapping[str, Any]) -> bytes:
    try:
        written = orjson.dumps(schema)
    except orjson.JSONEncodeError as exc:
        raise ValueError(f"the schema can't be used: {exc}") from None
    if len(written) > MAX_SCHEMA_BYTES:
        raise ValueError(f"expected at most {MAX_SCHEMA_BYTES} bytes of schema")
    return written


class _Checkers:
    """The checkers used last, as many as may stay in memory."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Checker] = OrderedDict()
        self._weight = 0

    def __call__(self, written: bytes) -> Checker:
        checker = self._kept.pop(written, None)
        if checker is None:
            checker = Checker(written)
            self._weight += _weight(checker)
        self._kept[written] = checker
        while self._weight > MAX_KEPT_WEIGHT:
            _, dropped = self._kept.popitem(last=False)
            self._weight -= _weight(dropped)
        return checker


def _weight(checker: Checker) -> int:
    return 1 + checker.patterns + checker.size // WEIGHT_BYTES


_checker = _Checkers()
