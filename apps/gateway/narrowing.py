"""Reads the field `conductor` of a request: what one run may not use of its pool.

`{"workers": ["a", "b"], "max_steps": 2, "max_rounds": 1, "max_cost_usd": "0.05"}`; each
part is optional. What we do not know is refused: a misspelt limit must not be none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.core.errors import InvalidInput
from apps.core.money import micros_of_usd
from apps.gateway.fields import read_integer, read_object, type_error
from apps.runs.types import NOT_NARROWED, Narrowing

FIELD = "conductor"
PARTS = frozenset({"workers", "max_steps", "max_rounds", "max_cost_usd"})
MAX_WORKERS = 100
MAX_PLAN = 1_000
"""More steps or rounds than any tier allows; keeps nonsense out of the ledger."""
MAX_COST_MICROS = 10**15


def read_narrowing(body: Mapping[str, Any]) -> Narrowing:
    """Return what the request narrows. Raises: InvalidInput naming the field."""
    given = read_object(body, FIELD)
    if not given:
        return NOT_NARROWED
    unknown = sorted(given.keys() - PARTS)
    if unknown:
        name = f"{FIELD}.{unknown[0][:64]}"
        raise InvalidInput(
            f"{name}: there is no such field; known are {', '.join(sorted(PARTS))}",
            param=name,
        )
    return Narrowing(
        workers=_workers(given.get("workers")),
        max_steps=read_integer(given, "max_steps", 1, MAX_PLAN, at=f"{FIELD}."),
        max_rounds=read_integer(given, "max_rounds", 1, MAX_PLAN, at=f"{FIELD}."),
        max_cost_micros=_cost(given.get("max_cost_usd")),
    )


def _workers(names: Any) -> tuple[str, ...]:
    where = f"{FIELD}.workers"
    if names is None:
        return ()
    if not isinstance(names, list) or not 0 < len(names) <= MAX_WORKERS:
        raise type_error(where, f"a list of 1 to {MAX_WORKERS} names", names)
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise type_error(f"{where}[{index}]", "a name", name)
    return tuple(dict.fromkeys(names))


def _cost(text: Any) -> int | None:
    where = f"{FIELD}.max_cost_usd"
    if text is None:
        return None
    micros = micros_of_usd(text) if isinstance(text, str) else None
    if micros is None:
        raise type_error(where, 'dollars as text, like "0.05"', text)
    if not 0 < micros <= MAX_COST_MICROS:
        raise InvalidInput(f"{where}: expected more than nothing", param=where)
    return micros
