"""Forms of alert rules and of the mails that a person wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import TextChoices
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

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

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


IN_MINUTES = gettext_noop("In minutes. Default: %(number)s.")
IN_PERCENT = gettext_noop("In percent. Default: %(number)s.")


def _choices(words: type[TextChoices]) -> list[tuple[str, StrOrPromise]]:
    """Return what can be chosen, in the reader's language."""
    return [(each.value, _(str(each.label))) for each in words]


class AlertRuleForm(ConsoleForm):
    """When an alert opens, how people hear of it, and who."""

    is_enabled = forms.BooleanField(label=_("This rule is on"), required=False)
    threshold = forms.IntegerField(min_value=1)
    window_minutes = forms.IntegerField(
        label=_("Time window in minutes"),
        min_value=5,
        max_value=LONGEST_WINDOW,
        help_text=_("Only runs that began within this time count."),
    )
    least = forms.IntegerField(
        min_value=1,
        max_value=MOST_LEAST,
        help_text=_("With fewer in the time window, no alert opens."),
    )
    channels = forms.MultipleChoiceField(
        label=_("Channels"),
        choices=_choices(AlertChannel),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("If none is chosen, alerts appear only in the list of alerts."),
    )
    audience = forms.ChoiceField(
        label=_("Recipients"),
        choices=_choices(AlertAudience),
        widget=forms.RadioSelect,
        help_text=_(
            "Who sees alerts in the bell and gets emails. Webhooks do not depend on it."
        ),
    )
    member_ids = forms.MultipleChoiceField(
        label=_("Chosen members"), widget=forms.CheckboxSelectMultiple, required=False
    )
    mails_when_closed = forms.BooleanField(
        label=_("Also send an email when an alert closes"), required=False
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
            hint = IN_MINUTES if kind in MINUTES else IN_PERCENT
            field.help_text = gettext(hint) % {"number": defaults.threshold}
        if "least" in self.fields:
            is_of_calls = kind is AlertKind.WORKER
            self.fields["least"].label = (
                _("Minimum number of calls")
                if is_of_calls
                else _("Minimum number of runs")
            )

    @property
    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        return dict(self.cleaned_data)


_THRESHOLDS = {
    AlertKind.BUDGET: _("Share of the limit that is spent"),
    AlertKind.WORKER: _("Share of calls that failed"),
    AlertKind.RUNS: _("Share of runs that failed"),
    AlertKind.PLANS: _("Share of runs without a plan"),
    AlertKind.APPROVAL: _("Longest wait"),
    AlertKind.CHECKPOINT: _("Longest time without a checkpoint"),
}


class MailChoiceForm(ConsoleForm):
    """The kinds of alerts that a person gets by mail."""

    kinds = forms.MultipleChoiceField(
        label=_("Email me about"),
        choices=_choices(AlertKind),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_(
            "You get an email only if the rule sends emails and you are among its "
            "recipients."
        ),
    )

    def __init__(self, *args: Any, kinds_off: list[str], **kw: Any) -> None:
        wanted = [kind for kind in AlertKind.values if kind not in kinds_off]
        super().__init__(*args, initial={"kinds": wanted}, **kw)

    @property
    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        wanted = self.cleaned_data["kinds"]
        return {"kinds_off": [kind for kind in AlertKind.values if kind not in wanted]}
