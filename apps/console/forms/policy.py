"""The form of one rule of the policy: its conditions and its effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django import forms
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.console.forms import numbers
from apps.console.forms.base import ConsoleForm
from apps.core.errors import InvalidFields, InvalidInput
from apps.core.input_parts import values_read
from apps.governance.policies.expressions import MAX_EXPRESSION, OF_PLAN, SAMPLE
from apps.governance.policies.rules import MAX_APPROVAL_HOURS, Rule
from apps.governance.policies.sentences import DAY_NAMES, KINDS_IN_WORDS

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

EFFECTS = {
    "deny": _("Deny the run"),
    "require_approval": _("Hold the plan until people have approved it"),
    "only_workers": _("Use only workers with a tag"),
    "no_workers": _("Use no worker with a tag"),
    "redact": _("Show models placeholders instead of sensitive data"),
    "no_conductor": _("Do not ask the conductor: the fallback worker answers alone"),
    "limit": _("Lower the limits"),
    "allow": _("Allow the run, and skip the rules below"),
}
MODES = {
    "enforce": _("Enforce"),
    "shadow": _("Shadow: only record when it would have applied"),
    "off": _("Off"),
}
ROLES = {
    "owner": _("Owners"),
    "admin": _("Admins"),
    "member": _("Members"),
    "api_key": _("API keys"),
}
TIERS = {"mini": _("Mini"), "ultra": _("Ultra"), "direct": _("One worker directly")}
SOURCES = {
    "playground": _("Chat"),
    "api": _("API, under /v1"),
    "rest": _("REST API"),
    "evaluation": _("Evaluations"),
}
CLASSES = {
    "public": _("Public or higher"),
    "internal": _("Internal or higher"),
    "confidential": _("Confidential or higher"),
    "restricted": _("Restricted"),
}
KINDS_SHOWN: dict[str, StrOrPromise] = {
    kind: capfirst(_(words)) for kind, words in KINDS_IN_WORDS.items()
}
DAYS_SHOWN = {day: _(name) for day, name in DAY_NAMES.items()}
VALUES = {
    "restored": _("are put back into the answer"),
    "recorded": _("stay on record; the answer has the placeholders"),
    "off_record": _("are kept nowhere; record and answer have the placeholders"),
}
ANY_TAG = _("Separate tags by commas; any of them.")
OF_A_KIND = _(
    "About a tag with a kind, like region:us, a worker without any region:… is in "
    "doubt: it may not be used."
)
TAGS_HELP = format_lazy("{} {}", ANY_TAG, OF_A_KIND)
LISTS = ("roles", "member_ids", "key_ids", "tiers", "sources", "contains")
PLAIN = ("steps_over", "cost_over_usd", "data_class", "expression")
LIMITS = ("max_steps", "max_rounds", "max_calls", "max_tokens", "max_cost_usd")
PATH_FIELDS = {"begin": "hours_begin", "end": "hours_end", "time_zone": "time_zone"}
"""Fields of the form by the last name in the path of a fault."""


def _several(
    label: StrOrPromise, choices: Mapping[str, StrOrPromise]
) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label,
        choices=list(choices.items()),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )


def _count(label: StrOrPromise) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=1)


def _one_line(
    label: StrOrPromise, help_text: StrOrPromise, placeholder: str
) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=2_000,
        help_text=help_text,
        widget=forms.TextInput(
            attrs={"placeholder": placeholder, "autocomplete": "off"}
        ),
    )


def _clock(label: StrOrPromise) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=5,
        widget=forms.TextInput(attrs={"type": "time"}),
    )


class RuleForm(ConsoleForm):
    """One rule."""

    folded: ClassVar[tuple[str, ...]] = (
        "roles",
        "member_ids",
        "key_ids",
        "sources",
        "tiers",
    )

    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        help_text=_("Shown in errors, on runs and in the ledger."),
        error_messages={"required": _("Write a name for the rule.")},
        widget=forms.TextInput(attrs={"placeholder": _("Falcon stays in the EU")}),
    )
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=list(MODES.items()),
        initial="enforce",
        widget=forms.RadioSelect,
    )
    roles = _several(_("Started by"), ROLES)
    member_ids = _several(_("Members"), {})
    key_ids = _several(_("API keys"), {})
    sources = _several(_("Comes from"), SOURCES)
    tiers = _several(_("Tier"), TIERS)
    words = forms.CharField(
        label=_("The prompt contains the text"),
        required=False,
        max_length=20_000,
        help_text=_(
            "One word or phrase in each line; any of them. Whole words, in upper or "
            "lower case."
        ),
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": _("Project Falcon")}),
    )
    data_class = forms.ChoiceField(
        label=_("Data class of the prompt"),
        choices=[("", _("Any")), *CLASSES.items()],
        required=False,
        help_text=_(
            "The highest of what the caller or the person says and what is found in "
            "the prompt. If nothing is said or found: internal."
        ),
    )
    contains = _several(_("The prompt contains"), KINDS_SHOWN)
    hours_begin = _clock(_("From"))
    hours_end = _clock(_("To"))
    days = _several(_("On"), DAYS_SHOWN)
    time_zone = _one_line(_("Time zone"), "", "UTC")
    steps_over = _count(_("The plan has more steps than"))
    cost_over_usd = numbers.dollars(
        _("The plan may cost more than, in dollars"), required=False
    )
    plan_tags = _one_line(_("The plan uses a worker tagged"), TAGS_HELP, "us")
    expression = forms.CharField(
        label=_("Expression"),
        required=False,
        max_length=MAX_EXPRESSION,
        help_text=format_lazy(
            _("In CEL; true or false. It may use {names}, and {names_of_plan}."),
            names=", ".join(name for name in SAMPLE if name != OF_PLAN),
            names_of_plan=", ".join(f"{OF_PLAN}.{name}" for name in SAMPLE[OF_PLAN]),
        ),
        widget=forms.Textarea(
            attrs={
                "rows": 2,
                "spellcheck": "false",
                "class": "input input--code",
                "placeholder": "counts.iban > 3 || plan.workers.exists(w, 'us' in "
                "tags[w])",
            }
        ),
    )
    effect = forms.ChoiceField(
        label=_("Then"),
        choices=list(EFFECTS.items()),
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose what the rule does.")},
    )
    tags = _one_line(_("Tags"), TAGS_HELP, "eu, on-premises")
    kinds = _several(_("Replaced by placeholders"), KINDS_SHOWN)
    kept = forms.ChoiceField(
        label=_("The values"),
        choices=list(VALUES.items()),
        initial="restored",
        required=False,
        widget=forms.RadioSelect,
        help_text=_("No model sees them, whatever you choose."),
    )
    max_steps = _count(_("Steps a plan"))
    max_rounds = _count(_("Rounds"))
    max_calls = _count(_("Calls"))
    max_tokens = _count(_("Tokens"))
    max_cost_usd = numbers.dollars(_("Cost of a run, in dollars"), required=False)
    approvers = forms.TypedChoiceField(
        label=_("Approved by"),
        choices=[("1", _("One other person")), ("2", _("Two other people"))],
        coerce=int,
        empty_value="1",
        required=False,
        help_text=_(
            "Owners, admins and reviewers approve, but never the person who started "
            "the run, or who made the API key that did."
        ),
    )
    hours = forms.IntegerField(
        label=_("Within, in hours"),
        required=False,
        min_value=1,
        max_value=MAX_APPROVAL_HOURS,
        help_text=_("Then the run ends. Empty: 24."),
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    def __init__(
        self,
        data: Any,
        *,
        members: Iterable[tuple[UUID, str]],
        keys: Iterable[tuple[UUID, str]],
        own_kinds: Sequence[str],
        known_tags: Sequence[str],
        initial: dict[str, Any],
    ) -> None:
        """Offer the team's members, keys and tags."""
        super().__init__(data, initial=initial)
        self._offer("member_ids", members)
        self._offer("key_ids", keys)
        kinds = {**KINDS_SHOWN, **{name: f"“{name}”" for name in own_kinds}}
        for name in ("contains", "kinds"):
            self._offer(name, kinds.items())
        if known_tags:
            note = gettext("Tags of your workers: {tags}.").format(
                tags=", ".join(known_tags)
            )
            for name in ("tags", "plan_tags"):
                field = self.fields[name]
                field.help_text = f"{field.help_text} {note}"

    def _offer(
        self, name: str, choices: Iterable[tuple[UUID | str, StrOrPromise]]
    ) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(str(each), label) for each, label in choices]
        if not field.choices:
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """Check the rule as a whole, each fault beside its field."""
        data = super().clean() or {}
        if not self.errors:
            try:
                values_read(Rule, self.values)
            except InvalidFields as error:
                self.take(error)
        return data

    def take(self, error: InvalidInput) -> None:
        """Show a service's complaint beside the field it is about."""
        if isinstance(error, InvalidFields):
            error = InvalidFields(_by_field(error.fields))
        super().take(error)

    @property
    def values(self) -> dict[str, Any]:
        """Return the rule in the words of the service."""
        data = self.cleaned_data
        given: dict[str, Any] = {name: data.get(name) or () for name in LISTS}
        given["words"] = _split(data["words"], "\n")
        given["plan_tags"] = _split(data["plan_tags"], ",")
        given |= {name: data[name] for name in PLAIN}
        given["hours"] = self._hours()
        conditions = {name: value for name, value in given.items() if value}
        return {
            "name": data["name"],
            "mode": data["mode"],
            "conditions": conditions,
            "effect": self._effect(),
        }

    def _hours(self) -> dict[str, Any] | None:
        data = self.cleaned_data
        if not (data["hours_begin"] or data["hours_end"] or data["days"]):
            return None
        return {
            "begin": data["hours_begin"] or "00:00",
            "end": data["hours_end"] or "00:00",
            "days": data["days"] or list(DAY_NAMES),
            "time_zone": data["time_zone"] or "UTC",
        }

    def _effect(self) -> dict[str, Any]:
        data = self.cleaned_data
        effect: dict[str, Any] = {"kind": data["effect"]}
        if data["effect"] in ("only_workers", "no_workers"):
            effect["tags"] = _split(data["tags"], ",")
        if data["effect"] == "redact":
            effect["kinds"] = data["kinds"]
            effect["restore"] = data["kept"] in ("", "restored")
            effect["off_record"] = data["kept"] == "off_record"
        if data["effect"] == "require_approval":
            effect |= {
                "approvers": int(data["approvers"]),
                "hours": data["hours"] or 24,
            }
        if data["effect"] == "limit":
            effect |= {name: data[name] for name in LIMITS if data[name]}
        return effect


def rule_initial(rule: Rule) -> dict[str, Any]:
    """Return what the form shows of a rule."""
    conditions = rule.conditions.model_dump(mode="json")
    hours = conditions.pop("hours") or {}
    effect = rule.effect.model_dump(mode="json")
    return {
        **conditions,
        "data_class": conditions["data_class"] or "",
        "expression": conditions["expression"] or "",
        "name": rule.name,
        "mode": rule.mode,
        "words": "\n".join(conditions["words"]),
        "plan_tags": ", ".join(conditions["plan_tags"]),
        "hours_begin": hours.get("begin", ""),
        "hours_end": hours.get("end", ""),
        "days": hours.get("days", ()),
        "time_zone": hours.get("time_zone", ""),
        "effect": effect.pop("kind"),
        "tags": ", ".join(effect.pop("tags", ())),
        "kept": _values_word(effect.pop("restore", True), effect.pop("off_record", 0)),
        **effect,
    }


def _values_word(is_restored: bool, is_off_record: bool) -> str:
    return "restored" if is_restored else "off_record" if is_off_record else "recorded"


def _split(text: str, by: str) -> list[str]:
    return [part.strip() for part in text.split(by) if part.strip()]


def _by_field(faults: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Name each fault by its field of the form instead of its path."""
    named: dict[str, list[str]] = {}
    for path, messages in faults.items():
        if path == "values":  # of the policy as a whole
            named.setdefault("", []).extend(messages)
            continue
        names = [n for n in re.split(r"[.\[\]]+", path) if n and not n.isdigit()]
        last = names[-1] if names else ""
        field = PATH_FIELDS.get(last, "effect" if last == "limit" else last)
        named.setdefault(field, []).extend(messages)
    return named
