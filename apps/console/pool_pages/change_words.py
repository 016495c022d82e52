"""Changes between two versions of a pool, in the words of its forms.

What was added or removed whole is one line. What only says a default that an older
version did not name is no change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from apps.console.ability_words import ABILITY_WORDS
from apps.console.forms.models import WorkerForm
from apps.pools.attributes import (
    TIER_LIMITS,
    ConductorAttributes,
    EndpointAttributes,
    TierDocument,
    WorkerAttributes,
)
from apps.pools.models import PoolVersion, TierName
from apps.pools.selectors import pool_version_changes
from apps.pools.types import Change

LABELS = {
    **{name: str(field.label) for name, field in WorkerForm.base_fields.items()},
    **{name: words.label for name, words in ABILITY_WORDS.items()},
    "name": "Name",
    "is_default": "Default pool",
    "fallback": "Fallback",
    "retries_refusals": "Ask another worker after a refusal",
    "base_url": "Address",
    "protocol": "Protocol",
    "model": "Model",
    "max_tokens_field": "Name of the output limit",
    "timeouts": "Timeout",
    "connect_s": "connect, seconds",
    "first_byte_s": "first byte, seconds",
    "first_token_s": "first token, seconds",  # nosec B105
    "idle_s": "silence in between, seconds",
    "total_s": "the whole answer, seconds",
    "kind": "What it makes",
    "description": "What it is good at",
    "max_output_tokens": "Longest answer, tokens",
    "extra_params": "Parameters it takes from requests",
    "reasoning_effort": "Reasoning effort",
    "thinking_budget_tokens": "Thinking budget, tokens",
    "extra_body": "Extra body",
    "tags": "Tags",
    "is_enabled": "Enabled",
    "may_substitute": "Can substitute",
    "prices": "Price from",
    "input_usd": "input, US dollars per million tokens",
    "output_usd": "output, US dollars per million tokens",
    "cached_input_usd": "cached input, US dollars per million tokens",
    "credential": "Key",
    "host": "host",
    "set_at": "stored anew",
    "mode": "How it writes plans",
    "prompt_style": "Prompt",
    "shows_descriptions": "Shown what workers are good at",
    "shows_measurements": "Shown what was measured of workers",
    "uses_prefill": "Begins its reasoning",
    "temperature": "Temperature",
    "light_planner": "Light planner",
    "version": "version",
    "digest": "content",
    "measured": "Measured",
    "planner": "Who plans",
    "cost_weight_percent": "Worth of cost, %",
    "max_steps": "Steps",
    "max_rounds": "Rounds of planning",
    "max_parallel": "Calls at a time",
    "max_calls": "Calls in all, with retries",
    "max_tokens": "Tokens in all",
    "max_cost_usd": "Cost, US dollars",
    "wall_time_s": "Time, seconds",
    "delivery": "Answers go out",
    "is_hedged": "Ask a second worker when the first is slow",
    "allows_delegation": "Let a plan leave the rest to a worker",
}
_ATTRIBUTES: Mapping[str, Sequence[type[BaseModel]]] = {
    "workers": (WorkerAttributes, EndpointAttributes),
    "conductor": (ConductorAttributes, EndpointAttributes),
    "tiers": (TierDocument,),
}
_EMPTY: tuple[Any, ...] = (None, False, "", [], {})


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change in words."""

    label: str
    before: Any
    """None: nothing is said of it."""
    after: Any


@dataclass(frozen=True, slots=True)
class _Part:
    """A value's place: of a worker, the conductor, a tier, or the pool itself."""

    kind: str
    name: str
    field: tuple[str, ...]


def change_lines(older: PoolVersion, newer: PoolVersion) -> list[ChangeLine]:
    """Return what differs between two versions of a pool, for people."""
    before, after = older.document, newer.document
    known = {name: _names(name, before) & _names(name, after) for name in _ATTRIBUTES}
    every = {name: _names(name, before) | _names(name, after) for name in _ATTRIBUTES}
    lines = [*_whole(before, after)]
    for change in pool_version_changes(older, newer):
        part = _part(change.path, every)
        is_whole = part.kind in known and part.name not in known[part.kind]
        if change.path == "workers" or is_whole or _is_default(part, change):
            continue
        lines.append(ChangeLine(_label(part), change.before, change.after))
    return lines


def _whole(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ChangeLine]:
    """Yield what came and went whole, and another order of workers."""
    for kind, word in (("workers", "Worker "), ("tiers", "Tier "), ("conductor", "")):
        old, new = _names(kind, before), _names(kind, after)
        for names, what in ((new - old, "added"), (old - new, "removed")):
            for name in sorted(names):
                yield ChangeLine(f"{word or 'The '}{name} {what}", None, None)
    orders = [[each["name"] for each in doc["workers"]] for doc in (before, after)]
    ids = [[each["id"] for each in doc["workers"]] for doc in (before, after)]
    if ids[0] != ids[1] and sorted(ids[0]) == sorted(ids[1]):
        yield ChangeLine("Order of workers", *orders)


def _names(kind: str, document: Mapping[str, Any]) -> set[str]:
    found = document.get(kind)
    if kind == "workers":
        return {worker["name"] for worker in document["workers"]}
    if kind == "conductor":
        return {"conductor"} if found else set()
    return {name for name, values in (found or {}).items() if values}


def _part(path: str, names: Mapping[str, set[str]]) -> _Part:
    kind, _, rest = path.partition(".")
    if kind == "conductor" and rest:
        return _Part(kind, kind, tuple(rest.split(".")))
    # Names of workers may have dots: the longest that fits is meant.
    fitting = [n for n in names.get(kind, ()) if rest.startswith(f"{n}.")]
    if not fitting:
        return _Part("", "", tuple(path.split(".")))
    name = max(fitting, key=len)
    return _Part(kind, name, tuple(rest[len(name) + 1 :].split(".")))


def _label(part: _Part) -> str:
    words = [LABELS.get(each, each.replace("_", " ")) for each in part.field]
    field = " ".join([words[0], *words[1:]])
    match part.kind:
        case "workers":
            return f"Worker {part.name}: {field}"
        case "conductor":
            return f"Conductor: {field}"
        case "tiers":
            return f"{part.name.capitalize()} tier: {field}"
        case _:
            return field[:1].upper() + field[1:]


def _is_default(part: _Part, change: Change) -> bool:
    """Say whether one version only names a default that the other leaves out."""
    if change.before is not None and change.after is not None:
        return False
    value = change.after if change.before is None else change.before
    return value in (*_EMPTY, *_defaults(part))


def _defaults(part: _Part) -> Iterator[Any]:
    field = part.field[-1]
    if part.kind == "tiers" and part.name in set(TierName):
        yield TIER_LIMITS[TierName(part.name)].get(field)
    for attributes in _ATTRIBUTES.get(part.kind, ()):
        found = attributes.model_fields.get(field)
        if found is not None and not found.is_required():
            yield found.get_default(call_default_factory=True)
