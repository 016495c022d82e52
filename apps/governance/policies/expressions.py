"""Conditions in CEL, the Common Expression Language (https://cel.dev).

An expression sees the facts of a run and gives true or false. It sees no text, calls
nothing that matches patterns, and loops once at most, so it takes microseconds. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import cel
from pydantic_core import PydanticCustomError

MAX_EXPRESSION = 1_000
"""Characters."""
OF_PLAN = "plan"
"""The variable that is there once there is a plan."""
SAMPLE: Mapping[str, Any] = {
    "role": "member",
    "member_id": "0199c0de-0000-7000-8000-000000000001",
    "key_id": "",
    "tier": "ultra",
    "source": "api",
    "prompt_characters": 1_200,
    "data_class": "confidential",
    "findings": ["iban"],
    "counts": {"iban": 1},
    "tags": {"large": ["eu"], "small": ["us"]},
    "plan": {
        "steps": 2,
        "workers": ["small", "large"],
        "access": [[], [0]],
        "tags": ["eu", "us"],
        "cost_usd": 0.25,
    },
}
"""Every variable that an expression may use, with a value of its type."""
_FUNCTIONS = {"size", "startsWith", "endsWith", "contains", "int", "double", "string"}
_LOOP = re.compile(r"\b(?:all|exists|exists_one|filter|map)\s*\(")


class ExpressionFault(Exception):
    """An expression gave neither true nor false. The text says why."""


def expression_checked(text: str) -> str:
    """Check a condition when it is saved. Raises: PydanticCustomError."""
    try:
        program = _compiled(text)
        found = program.variables()
    except ValueError as exc:
        raise _refused(f"is not valid CEL: {_first_line(exc)}") from None
    unknown = [name for name in found if name not in SAMPLE]
    loops = len(_LOOP.findall(text))
    if loops > 1:
        raise _refused("may use all, exists, exists_one, filter or map only once")
    if len(unknown) > loops:
        known = ", ".join(SAMPLE)
        raise _refused(f"names {unknown[0]!r}, which is not known; there are {known}")
    for name in program.functions():
        if name[:1] not in "_@!" and name not in _FUNCTIONS:
            raise _refused(f"calls {name!r}; there are {', '.join(sorted(_FUNCTIONS))}")
    return text


def expression_tried(rule: str, text: str, kinds: Collection[str]) -> None:
    """Evaluate a rule's condition on sample facts: most slips show at once.

    `kinds` are the kinds of sensitive data that the policy knows. Raises:
    PydanticCustomError.
    """
    counts = dict.fromkeys(kinds, 0) | SAMPLE["counts"]
    try:
        expression_holds(text, cel.Context({**SAMPLE, "counts": counts}))
    except ExpressionFault as exc:
        why = f"the expression of rule {rule!r} fails on an example: {exc}"
        raise _refused(why) from None


def expression_holds(text: str, context: cel.Context) -> bool:
    """Say whether an expression is true of these facts. Raises: ExpressionFault."""
    try:
        found = _compiled(text).execute(context)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as exc:
        raise ExpressionFault(_first_line(exc)) from None
    if not isinstance(found, bool):
        raise ExpressionFault(f"it gives {type(found).__name__}, not true or false")
    return found


def variables_of(text: str) -> Collection[str]:
    """Return the names of what an expression depends on."""
    return _compiled(text).variables()


@lru_cache(maxsize=1_000)
def _compiled(text: str) -> cel.Program:
    """Return the compiled expression. Raises: ValueError."""
    return cel.compile(text)


def _first_line(exc: Exception) -> str:
    """Return what the library says, without the whole expression before it."""
    if isinstance(exc, KeyError):
        return f"there is no {exc}"
    lines = str(exc).splitlines() or [type(exc).__name__]
    words = lines[0].rpartition("ERROR: <input>:")[2]
    return words.partition(" expecting {")[0][:200]


def _refused(why: str) -> PydanticCustomError:
    return PydanticCustomError("expression", "{why}", {"why": why})
