"""Forms of alert rules and of the mails that a person wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from apps.accounts.models import Membership
from apps.alerts.models import AlertRule
from apps.alerts.selectors import rule_values
from apps.alerts.types import (
    DEFAULTS,
    LONGEST_WINDOW,
    MINUTES,
    MOST_LEAST,
    AlertAudience,
    AlertChannel,
    AlertKind,
)
from apps.console.forms.base import ConsoleForm


class AlertRuleForm(ConsoleForm):
    """When an alert opens, how people hear of it, and who."""

    is_enabled = forms.BooleanField(label="This rule is on", required=False)
    threshold = forms.IntegerField(min_value=1)
    window_minutes = forms.IntegerField(
        label="Minutes that count",
        min_value=5,
        max_value=LONGEST_WINDOW,
        help_text="Runs that began in the last so many minutes.",
    )
    least = forms.IntegerField(
        min_value=1,
        max_value=MOST_LEAST,
        help_text="With fewer in these minutes no alert opens.",
    )
    channels = forms.MultipleChoiceField(
        choices=AlertChannel.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="With none, alerts are in the list of alerts alone.",
    )
    audience = forms.ChoiceField(
        label="For",
        choices=AlertAudience.choices,
        widget=forms.RadioSelect,
        help_text="Who sees them in the bell and gets the mails. Webhooks are for all.",
    )
    member_ids = forms.MultipleChoiceField(
        label="Chosen members", widget=forms.CheckboxSelectMultiple, required=False
    )
    mails_when_closed = forms.BooleanField(
        label="Send another mail when an alert closes", required=False
    )

    def __init__(
        self, *args: Any, rule: AlertRule, members: Iterable[Membership], **kw: Any
    ) -> None:
        super().__init__(*args, initial=rule_values(rule), **kw)
        self.fields["member_ids"].choices = [  # type: ignore[attr-defined]
            (str(each.user_id), each.user.get_full_name()) for each in members
        ]
        kind = AlertKind(rule.kind)
        defaults = DEFAULTS[kind]
        for name in ("threshold", "window_minutes", "least"):
            if getattr(defaults, name) is None:
                del self.fields[name]
        if "threshold" in self.fields:
            field: Any = self.fields["threshold"]
            field.label = _THRESHOLDS[kind]
            field.max_value = defaults.highest
            field.widget.attrs["max"] = defaults.highest
            unit = "minutes" if kind in MINUTES else "percent"
            field.help_text = f"In {unit}, {defaults.threshold} unless you change it."
        if "least" in self.fields:
            counted = "calls" if kind is AlertKind.WORKER else "runs"
            self.fields["least"].label = f"Least number of {counted}"

    @property
    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        return dict(self.cleaned_data)


_THRESHOLDS = {
    AlertKind.BUDGET: "Spent part of the limit",
    AlertKind.WORKER: "Failed part of its calls",
    AlertKind.RUNS: "Failed part of the runs",
    AlertKind.PLANS: "Part of the runs without a plan",
    AlertKind.APPROVAL: "Longest wait",
    AlertKind.CHECKPOINT: "Longest time without a checkpoint",
}


class MailChoiceForm(ConsoleForm):
    """The kinds of alerts that a person gets by mail."""

    kinds = forms.MultipleChoiceField(
        label="Mails to you",
        choices=AlertKind.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="If the rule sends mails and is for you.",
    )

    def __init__(self, *args: Any, kinds_off: list[str], **kw: Any) -> None:
        wanted = [kind for kind in AlertKind.values if kind not in kinds_off]
        super().__init__(*args, initial={"kinds": wanted}, **kw)

    @property
    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        wanted = self.cleaned_data["kinds"]
        return {"kinds_off": [kind for kind in AlertKind.values if kind not in wanted]}
