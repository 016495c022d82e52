"""Reads the field `conductor` of a request: what one run may not use of its pool.

`{"workers": ["a", "b"], "max_steps": 2, "max_rounds": 1, "max_cost_usd": "0.05",
"max_time_s": 60, "delivery": "verified", "progress": "off", "approval": "never",
"exploration": "never", "data_class": "confidential", "family": "invoices"}`; each part
is optional, and `rounds` is another name of `max_rounds`. What we do not know is
refused: a misspelt limit must not be none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from apps.accounts.types import ProgressWord
from apps.core.data_classes import data_class_read
from apps.core.errors import InvalidInput
from apps.core.money import micros_of_usd
from apps.engine.limits import MAX_TIME_S
from apps.gateway.parsing.json_fields import read_integer, read_object, type_error
from apps.gateway.parsing.params import names_family
from apps.runs.planning.families import family_read
from apps.runs.types import UNRESTRICTED, Delivery, RunRestrictions

FIELD = "conductor"
AT = f"{FIELD}."
PARTS = frozenset(
    {
        "approval",
        "data_class",
        "delivery",
        "exploration",
        "family",
        "max_cost_usd",
        "max_rounds",
        "max_steps",
        "max_time_s",
        "progress",
        "rounds",
        "workers",
    }
)
DELIVERIES: dict[str, Delivery] = {"live": "live", "verified": "verified"}
PROGRESS_FORMS: dict[str, ProgressWord] = {
    "reasoning": "reasoning",
    "events": "events",
    "off": "off",
}
APPROVALS: dict[str, Literal["wait", "never"]] = {"wait": "wait", "never": "never"}
EXPLORATIONS: dict[str, Literal["allowed", "never"]] = {
    "allowed": "allowed",
    "never": "never",
}
WordT = TypeVar("WordT")
MAX_WORKERS = 100
MAX_PLAN = 1_000
"""More steps or rounds than any tier allows; keeps nonsense out of the ledger."""
MAX_COST_MICROS = 10**15


@dataclass(frozen=True, slots=True)
class ConductorOptions:
    """What the field `conductor` asks for."""

    restrictions: RunRestrictions = UNRESTRICTED
    delivery: Delivery | None = None
    """None: as the key or the tier says."""
    progress: ProgressWord | None = None
    """None: as the key says."""
    family: str = ""
    """Of tasks, for insights. Empty: none is named."""


def read_conductor_options(body: Mapping[str, Any]) -> ConductorOptions:
    """Return what the request wants otherwise. Raises: InvalidInput."""
    given = read_object(body, FIELD)
    if not given:
        return ConductorOptions(family=_family_in_metadata(body))
    unknown = sorted(given.keys() - PARTS)
    if unknown:
        name = f"{AT}{unknown[0][:64]}"
        raise InvalidInput(
            f"{name}: there is no such field; known are {', '.join(sorted(PARTS))}",
            param=name,
        )
    restrictions = RunRestrictions(
        workers=_workers(given.get("workers")),
        max_steps=read_integer(given, "max_steps", 1, MAX_PLAN, at=AT),
        max_rounds=_rounds(given),
        max_cost_micros=_cost(given.get("max_cost_usd")),
        max_time_s=read_integer(given, "max_time_s", 1, MAX_TIME_S, at=AT),
        data_class=_data_class(given.get("data_class")),
        approval=_approval(given.get("approval")),
        exploration=_exploration(given.get("exploration")),
    )
    return ConductorOptions(
        restrictions,
        _delivery(given.get("delivery")),
        _progress(given.get("progress")),
        family_read(given.get("family"), param=f"{AT}family")
        or _family_in_metadata(body),
    )


def _family_in_metadata(body: Mapping[str, Any]) -> str:
    """Return the family in a request's own metadata, for clients without our field."""
    if not names_family(body):
        return ""
    return family_read(body["metadata"]["family"], param="metadata.family")


def _rounds(given: Mapping[str, Any]) -> int | None:
    long = read_integer(given, "max_rounds", 1, MAX_PLAN, at=AT)
    short = read_integer(given, "rounds", 1, MAX_PLAN, at=AT)
    if long is not None and short is not None and long != short:
        raise InvalidInput(
            f"{AT}rounds: {short} is not max_rounds, which is {long}",
            param=f"{AT}rounds",
        )
    return short if long is None else long


def _approval(word: Any) -> Literal["never"] | None:
    """Return whether a plan that people must approve is refused at once."""
    return "never" if _known(word, APPROVALS, "approval") == "never" else None


def _exploration(word: Any) -> Literal["never"] | None:
    """Return whether only the best plan that is known may be used."""
    return "never" if _known(word, EXPLORATIONS, "exploration") == "never" else None


def _data_class(word: Any) -> str | None:
    return None if word is None else data_class_read(word, param=f"{AT}data_class")


def _delivery(word: Any) -> Delivery | None:
    return _known(word, DELIVERIES, "delivery")


def _progress(word: Any) -> ProgressWord | None:
    return _known(word, PROGRESS_FORMS, "progress")


def _known(word: Any, words: Mapping[str, WordT], name: str) -> WordT | None:
    if word is None:
        return None
    known = words.get(word) if isinstance(word, str) else None
    if known is None:
        where = f"{AT}{name}"
        raise InvalidInput(f"{where}: expected one of {', '.join(words)}", param=where)
    return known


def _workers(names: Any) -> tuple[str, ...]:
    where = f"{AT}workers"
    if names is None:
        return ()
    if not isinstance(names, list) or not 0 < len(names) <= MAX_WORKERS:
        raise type_error(where, f"a list of 1 to {MAX_WORKERS} names", names)
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise type_error(f"{where}[{index}]", "a name", name)
    return tuple(dict.fromkeys(names))


def _cost(text: Any) -> int | None:
    where = f"{AT}max_cost_usd"
    if text is None:
        return None
    if not isinstance(text, str):
        raise type_error(where, 'dollars as text, like "0.05"', text)
    micros = micros_of_usd(text)
    if micros is None:
        raise InvalidInput(
            f'{where}: {text[:40]!r} is no amount of dollars, like "0.05"', param=where
        )
    if not 0 < micros <= MAX_COST_MICROS:
        raise InvalidInput(f"{where}: expected more than nothing", param=where)
    return micros
