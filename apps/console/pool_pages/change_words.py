"""Changes between two versions of a pool, in the words of its forms.

What was added or removed whole is one line. What only says a default that an older
version did not name is no change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
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

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

LABELS: Mapping[str, StrOrPromise] = {
    **{name: field.label or name for name, field in WorkerForm.base_fields.items()},
    **{name: words.label for name, words in ABILITY_WORDS.items()},
    "name": _("Name"),
    "is_default": _("Default pool"),
    "fallback": _("Fallback"),
    "retries_refusals": _("Ask another worker after a refusal"),
    "base_url": _("Address"),
    "protocol": _("Protocol"),
    "model": _("Model"),
    "max_tokens_field": _("Name of the output limit"),
    "timeouts": _("Timeout"),
    "connect_s": _("connect, seconds"),
    "first_byte_s": _("first byte, seconds"),
    "first_token_s": _("first token, seconds"),  # nosec B105
    "idle_s": _("silence in between, seconds"),
    "total_s": _("the whole answer, seconds"),
    "kind": _("What it makes"),
    "description": _("What it is good at"),
    "max_output_tokens": _("Longest answer, tokens"),
    "extra_params": _("Parameters it takes from requests"),
    "reasoning_effort": _("Reasoning effort"),
    "thinking_budget_tokens": _("Thinking budget, tokens"),
    "extra_body": _("Extra body"),
    "tags": _("Tags"),
    "is_enabled": _("Enabled"),
    "may_substitute": _("Can substitute"),
    "prices": _("Price from"),
    "input_usd": _("input, US dollars per million tokens"),
    "output_usd": _("output, US dollars per million tokens"),
    "cached_input_usd": _("cached input, US dollars per million tokens"),
    "credential": _("Key"),
    "host": _("host"),
    "set_at": _("stored anew"),
    "mode": _("How it writes plans"),
    "prompt_style": _("Prompt"),
    "shows_descriptions": _("Shown what workers are good at"),
    "shows_measurements": _("Shown what was measured of workers"),
    "uses_prefill": _("Begins its reasoning"),
    "temperature": _("Temperature"),
    "light_planner": _("Light planner"),
    "version": _("version"),
    "digest": _("content"),
    "measured": _("Measured"),
    "planner": _("Who plans"),
    "answer_worth_usd": _("A right answer is worth, $"),
    "max_steps": _("Steps"),
    "max_rounds": _("Rounds of planning"),
    "max_parallel": _("Calls at a time"),
    "max_calls": _("Calls in all, with retries"),
    "max_tokens": _("Tokens in all"),
    "max_cost_usd": _("Cost limit (US dollars)"),
    "wall_time_s": _("Time, seconds"),
    "delivery": _("Delivery of answers"),
    "is_hedged": _("Ask a second worker when the first is slow"),
    "allows_delegation": _("Let a plan leave the rest to a worker"),
}
_ATTRIBUTES: Mapping[str, Sequence[type[BaseModel]]] = {
    "workers": (WorkerAttributes, EndpointAttributes),
    "conductor": (ConductorAttributes, EndpointAttributes),
    "tiers": (TierDocument,),
}
_WHOLE = {
    "workers": (_("Worker %(name)s added"), _("Worker %(name)s removed")),
    "tiers": (_("Tier %(name)s added"), _("Tier %(name)s removed")),
    "conductor": (_("The conductor added"), _("The conductor removed")),
}
"""What came and what went whole, by where it is in a version."""
_FIELDS = {
    "workers": _("Worker %(name)s: %(field)s"),
    "conductor": _("Conductor: %(field)s"),
    "tiers": _("%(name)s tier: %(field)s"),
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
    for kind, (added, removed) in _WHOLE.items():
        old, new = _names(kind, before), _names(kind, after)
        for names, text in ((new - old, added), (old - new, removed)):
            for name in sorted(names):
                yield ChangeLine(text % {"name": name}, None, None)
    orders = [[each["name"] for each in doc["workers"]] for doc in (before, after)]
    ids = [[each["id"] for each in doc["workers"]] for doc in (before, after)]
    if ids[0] != ids[1] and sorted(ids[0]) == sorted(ids[1]):
        yield ChangeLine(gettext("Order of workers"), *orders)


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
    field = " ".join(
        str(LABELS.get(each, each.replace("_", " "))) for each in part.field
    )
    match part.kind:
        case "workers":
            return _FIELDS["workers"] % {"name": part.name, "field": field}
        case "conductor":
            return _FIELDS["conductor"] % {"field": field}
        case "tiers":
            return _FIELDS["tiers"] % {"name": part.name.capitalize(), "field": field}
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
