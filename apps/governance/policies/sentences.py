"""Rules in words, as pages show them. Pure: names are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.utils.translation import gettext_noop as _

from apps.core.data_classes import DATA_CLASSES, DataClassName
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
from apps.governance.policies.worker_tags import QUOTED, Say, nor_unstated

NO_CONDUCTOR = _("do not ask the conductor; the fallback worker answers alone")
ROLES = {
    "owner": _("an owner"),
    "admin": _("an admin"),
    "member": _("a member"),
    "api_key": _("an API key"),
}
SOURCES = {
    "playground": _("the chat"),
    "api": _("the API"),
    "rest": _("the REST API"),
    "evaluation": _("evaluations"),
}
DAY_NAMES = {
    "mon": _("Monday"),
    "tue": _("Tuesday"),
    "wed": _("Wednesday"),
    "thu": _("Thursday"),
    "fri": _("Friday"),
    "sat": _("Saturday"),
    "sun": _("Sunday"),
}
KINDS_IN_WORDS: Mapping[str, str] = {
    "secret": _("passwords and keys"),  # nosec B105
    "card": _("card numbers"),
    "iban": _("IBANs"),
    "tax_number": _("tax and social security numbers"),
    "email": _("email addresses"),
    "phone": _("phone numbers"),
}
LIMITS = {
    "max_steps": _("{number} steps a plan"),
    "max_rounds": _("{number} rounds"),
    "max_calls": _("{number} calls"),
    "max_tokens": _("{number} tokens"),
}


def sentence(rule: Rule, names: Mapping[UUID, str], say: Say = str) -> str:
    """Return a rule as one sentence; `names` are of members and keys, by id.

    `say` translates the words of pages. What is recorded is in English.
    """
    parts = _conditions(rule.conditions, names, say)
    effect = effect_words(rule.effect, say)
    if not parts:
        return say(_("For every run: {effect}.")).format(effect=effect)
    conditions = _and(parts, say)
    return say(_("If {conditions}: {effect}.")).format(
        conditions=conditions, effect=effect
    )


def _conditions(given: Conditions, names: Mapping[UUID, str], say: Say) -> list[str]:
    return [*_starter(given, names, say), *_request(given, say), *_plan(given, say)]


def _starter(given: Conditions, names: Mapping[UUID, str], say: Say) -> list[str]:
    parts: list[str] = []
    starts = say(_("{people} starts the run"))
    if given.roles:
        people = _or([say(ROLES[role]) for role in given.roles], say)
        parts.append(starts.format(people=people))
    if given.member_ids:
        people = _or(_names(given.member_ids, names, say), say)
        parts.append(starts.format(people=people))
    if given.key_ids:
        keys = _or(_names(given.key_ids, names, say), say)
        parts.append(say(_("the API key is {keys}")).format(keys=keys))
    return parts


def _request(given: Conditions, say: Say) -> list[str]:
    parts: list[str] = []
    if given.tiers:
        tiers = _or(given.tiers, say)
        parts.append(say(_("the tier is {tiers}")).format(tiers=tiers))
    if given.sources:
        sources = _or([say(SOURCES[source]) for source in given.sources], say)
        parts.append(say(_("it comes from {sources}")).format(sources=sources))
    if given.data_class is not None:
        parts.append(_class_words(given.data_class, say))
    if given.contains:
        kinds = _or([kind_words(kind, say) for kind in given.contains], say)
        parts.append(say(_("the prompt contains {kinds}")).format(kinds=kinds))
    if given.words:
        words = _or(_quoted(given.words, say), say)
        parts.append(say(_("the prompt contains {words}")).format(words=words))
    if given.hours is not None:
        parts.append(_hours(given.hours, say))
    if given.expression is not None:
        is_true = say(_("“{expression}” is true"))
        parts.append(is_true.format(expression=given.expression))
    return parts


def _class_words(data_class: DataClassName, say: Say) -> str:
    if data_class == DATA_CLASSES[-1]:
        words = _("the data class is {name}")
    else:
        words = _("the data class is {name} or higher")
    return say(words).format(name=say(data_class))


def _plan(given: Conditions, say: Say) -> list[str]:
    parts: list[str] = []
    if given.steps_over is not None:
        more = say(_("the plan has more than {number} steps"))
        parts.append(more.format(number=given.steps_over))
    if given.plan_tags:
        tags = _or(_quoted(given.plan_tags, say), say)
        parts.append(say(_("the plan uses a worker tagged {tags}")).format(tags=tags))
    if given.cost_over_usd is not None:
        amount = usd_text(int(given.cost_over_usd * MICROS))
        more = say(_("the plan may cost more than ${amount}"))
        parts.append(more.format(amount=amount))
    return parts


def effect_words(effect: Effect, say: Say = str) -> str:
    """Return what an effect does, as a request: "deny it"."""
    match effect.kind:
        case "allow":
            return say(_("allow it, and skip the rules below"))
        case "deny":
            return say(_("deny it"))
        case "only_workers":
            tags = _or(_quoted(effect.tags, say), say)
            return say(_("use only workers tagged {tags}")).format(tags=tags)
        case "no_workers":
            tags = _or(_quoted(effect.tags, say), say)
            words = say(_("use no worker tagged {tags}")).format(tags=tags)
            return f"{words}{nor_unstated(effect.tags, say)}"
        case "no_conductor":
            return say(NO_CONDUCTOR)
        case "require_approval":
            return _approval(effect, say)
        case "redact":
            return _redaction(effect, say)
        case "limit":
            limits = _and(_limits(effect, say), say)
            return say(_("allow at most {limits}")).format(limits=limits)


def _redaction(effect: Redact, say: Say) -> str:
    kinds = _and([kind_words(kind, say) for kind in effect.kinds], say)
    words = _("show models placeholders for {kinds}")
    if effect.off_record:
        words = _("show models placeholders for {kinds}, and keep the values nowhere")
    elif not effect.restore:
        words = _("show models placeholders for {kinds}, also in the answer")
    return say(words).format(kinds=kinds or say(_("all sensitive data")))


def kind_words(kind: str, say: Say = str) -> str:
    """Return a kind of sensitive data in words; own patterns by their names."""
    known = KINDS_IN_WORDS.get(kind)
    return say(known) if known else _quoted([kind], say)[0]


def _approval(effect: RequireApproval, say: Say) -> str:
    if effect.approvers == 2:
        words = _("hold the plan until two others have approved it, for {time} at most")
    else:
        words = _(
            "hold the plan until somebody else has approved it, for {time} at most"
        )
    return say(words).format(time=_time(effect.hours, say))


def _time(hours: int, say: Say) -> str:
    if hours >= 48 and not hours % 24:
        return say(_("{number} days")).format(number=hours // 24)
    return say(_("1 hour") if hours == 1 else _("{number} hours")).format(number=hours)


def _limits(effect: Limit, say: Say) -> list[str]:
    given = effect.limits()
    cost = given.pop("max_cost_micros", None)
    words = [
        say(LIMITS[name]).format(number=f"{most:,}") for name, most in given.items()
    ]
    return words if cost is None else [*words, f"${usd_text(cost)}"]


def _hours(hours: Hours, say: Say) -> str:
    words = _("it is {begin} to {end} on {days} ({zone})")
    if set(hours.days) == set(DAYS):
        words = _("it is {begin} to {end} ({zone})")
    return say(words).format(
        begin=hours.begin,
        end=hours.end,
        days=_or([say(name) for name in _days(hours)], say),
        zone=hours.time_zone,
    )


def _days(hours: Hours) -> list[str]:
    return [DAY_NAMES[day] for day in DAYS if day in hours.days]


def _names(ids: Sequence[UUID], names: Mapping[UUID, str], say: Say) -> list[str]:
    return [names.get(each) or say(_("someone who has left")) for each in ids]


def _quoted(words: Sequence[str], say: Say) -> list[str]:
    return [say(QUOTED).format(word=word) for word in words]


def _or(words: Sequence[str], say: Say) -> str:
    return _joined(words, say(_("or")))


def _and(words: Sequence[str], say: Say) -> str:
    return _joined(words, say(_("and")))


def _joined(words: Sequence[str], by: str) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {by} {words[-1]}"
