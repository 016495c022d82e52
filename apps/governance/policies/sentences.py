"""Rules in words, as pages show them. Pure: names are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from apps.core.data_classes import DATA_CLASSES
from apps.core.money import usd_text
from apps.governance.policies.rules import (
    DAYS,
    MICROS,
    Conditions,
    Effect,
    Hours,
    Limit,
    Redact,
    RequireApproval,
    Rule,
)
from apps.governance.policies.worker_tags import nor_unstated

ROLES = {
    "owner": "an owner",
    "admin": "an admin",
    "member": "a member",
    "api_key": "an API key",
}
SOURCES = {
    "playground": "the playground",
    "api": "the API",
    "rest": "the REST API",
    "evaluation": "evaluations",
}
DAY_NAMES = {
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}
KINDS_IN_WORDS: Mapping[str, str] = {
    "secret": "passwords and keys",  # nosec B105
    "card": "card numbers",
    "iban": "IBANs",
    "tax_number": "tax and social security numbers",
    "email": "email addresses",
    "phone": "phone numbers",
}
LIMITS = {
    "max_steps": "{} steps a plan",
    "max_rounds": "{} rounds",
    "max_calls": "{} calls",
    "max_tokens": "{} tokens",
}


def sentence(rule: Rule, names: Mapping[UUID, str]) -> str:
    """Return a rule as one sentence; `names` are of members and keys, by id."""
    parts = _conditions(rule.conditions, names)
    effect = effect_words(rule.effect)
    if not parts:
        return f"For every run: {effect}."
    return f"If {_and(parts)}: {effect}."


def _conditions(given: Conditions, names: Mapping[UUID, str]) -> list[str]:
    return [*_starter(given, names), *_request(given), *_plan(given)]


def _starter(given: Conditions, names: Mapping[UUID, str]) -> list[str]:
    parts: list[str] = []
    if given.roles:
        parts.append(f"{_or([ROLES[role] for role in given.roles])} starts the run")
    if given.member_ids:
        parts.append(f"{_or(_names(given.member_ids, names))} starts the run")
    if given.key_ids:
        parts.append(f"the API key is {_or(_names(given.key_ids, names))}")
    return parts


def _request(given: Conditions) -> list[str]:
    parts: list[str] = []
    if given.tiers:
        parts.append(f"the tier is {_or(given.tiers)}")
    if given.sources:
        parts.append(f"it comes from {_or([SOURCES[s] for s in given.sources])}")
    if given.data_class is not None:
        is_highest = given.data_class == DATA_CLASSES[-1]
        higher = "" if is_highest else " or higher"
        parts.append(f"the data class is {given.data_class}{higher}")
    if given.contains:
        kinds = _or([kind_words(kind) for kind in given.contains])
        parts.append(f"the prompt holds {kinds}")
    if given.words:
        parts.append(f"the prompt contains {_or(_quoted(given.words))}")
    if given.hours is not None:
        parts.append(_hours(given.hours))
    if given.expression is not None:
        parts.append(f"“{given.expression}” is true")
    return parts


def _plan(given: Conditions) -> list[str]:
    parts: list[str] = []
    if given.steps_over is not None:
        parts.append(f"the plan has more than {given.steps_over} steps")
    if given.plan_tags:
        tags = _or(_quoted(given.plan_tags))
        parts.append(f"the plan uses a worker tagged {tags}")
    if given.cost_over_usd is not None:
        amount = usd_text(int(given.cost_over_usd * MICROS))
        parts.append(f"the plan may cost more than ${amount}")
    return parts


def effect_words(effect: Effect) -> str:
    """Return what an effect does, as a request: "deny it"."""
    match effect.kind:
        case "allow":
            return "allow it, and skip the rules below"
        case "deny":
            return "deny it"
        case "only_workers":
            return f"use only workers tagged {_or(_quoted(effect.tags))}"
        case "no_workers":
            unstated = nor_unstated(effect.tags)
            return f"use no worker tagged {_or(_quoted(effect.tags))}{unstated}"
        case "no_conductor":
            return "do not ask the conductor; the fallback worker answers alone"
        case "require_approval":
            return _approval(effect)
        case "redact":
            return _redaction(effect)
        case "limit":
            return f"allow at most {_and(_limits(effect))}"


def _redaction(effect: Redact) -> str:
    what = _and([kind_words(kind) for kind in effect.kinds])
    shown = f"show models placeholders for {what or 'all sensitive data'}"
    if effect.off_record:
        return f"{shown}, and keep the values nowhere"
    return shown if effect.restore else f"{shown}, also in the answer"


def kind_words(kind: str) -> str:
    """Return a kind of sensitive data in words; own patterns by their names."""
    return KINDS_IN_WORDS.get(kind, f"“{kind}”")


def _approval(effect: RequireApproval) -> str:
    is_pair = effect.approvers == 2
    who, has = ("two others", "have") if is_pair else ("somebody else", "has")
    hours = effect.hours
    is_in_days = hours >= 48 and not hours % 24
    time = f"{hours // 24} days" if is_in_days else f"{hours} hour{'s'[: hours > 1]}"
    return f"hold the plan until {who} {has} approved it, for {time} at most"


def _limits(effect: Limit) -> list[str]:
    given = effect.limits()
    cost = given.pop("max_cost_micros", None)
    words = [LIMITS[name].format(f"{most:,}") for name, most in given.items()]
    return words if cost is None else [*words, f"${usd_text(cost)}"]


def _hours(hours: Hours) -> str:
    days = "" if set(hours.days) == set(DAYS) else f" on {_or(_days(hours))}"
    return f"it is {hours.begin} to {hours.end}{days} ({hours.time_zone})"


def _days(hours: Hours) -> list[str]:
    return [DAY_NAMES[day] for day in DAYS if day in hours.days]


def _names(ids: Sequence[UUID], names: Mapping[UUID, str]) -> list[str]:
    return [names.get(each, "someone who has left") for each in ids]


def _quoted(words: Sequence[str]) -> list[str]:
    return [f"“{word}”" for word in words]


def _or(words: Sequence[str]) -> str:
    return _joined(words, "or")


def _and(words: Sequence[str]) -> str:
    return _joined(words, "and")


def _joined(words: Sequence[str], by: str) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {by} {words[-1]}"
