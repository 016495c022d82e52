"""API keys: what is typed in to make or change one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import (
    DEFAULT_SCOPES,
    OFFERED_SCOPES,
    ApiKey,
    ProgressForm,
    Scope,
)
from apps.console.forms import numbers
from apps.console.forms.base import ConsoleForm
from apps.console.forms.deliveries import DELIVERIES, HINT
from apps.pools.models import TierName

LIFETIMES = {
    "7": _("7 days"),
    "30": _("30 days"),
    "90": _("90 days"),
    "365": _("A year"),
}
OVERLAPS = {
    "0": _("No time: it ends now"),
    "1": _("An hour"),
    "24": _("A day"),
    "168": _("7 days"),
}
"""Hours for which the old key goes on working."""
DATA_CLASS_LABELS = {
    "public": _("Public"),
    "internal": _("Internal"),
    "confidential": _("Confidential"),
    "restricted": _("Restricted"),
}
BUDGET_PERIODS = {"day": _("Day"), "month": _("Calendar month")}


class KeyForm(ConsoleForm):
    """What an API key may do and how much. For a key that exists."""

    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        help_text=_("Where it will be used: people see this name beside its runs."),
        error_messages={"required": _("Give the key a name.")},
        widget=forms.TextInput(
            attrs={"placeholder": _("Nightly reports"), "autocomplete": "off"}
        ),
    )
    scopes = forms.MultipleChoiceField(
        label=_("What it may do"),
        choices=[(scope.value, _(str(scope.label))) for scope in OFFERED_SCOPES],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )
    allowed_tiers = forms.MultipleChoiceField(
        label=_("Tiers"),
        help_text=_("Leave empty to allow every tier."),
        choices=TierName.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    allowed_workers = forms.MultipleChoiceField(
        label=_("Workers"),
        help_text=_("Leave empty to allow all workers, including new ones."),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    requests_per_minute = numbers.requests_per_minute()
    tokens_per_minute = numbers.tokens_per_minute()
    always_include_usage = forms.BooleanField(
        label=_("Always include usage"),
        required=False,
        help_text=_(
            "Streams end with their token counts even if the client did not ask."
        ),
    )

    delivery = forms.ChoiceField(
        label=_("Delivery of answers"),
        required=False,
        choices=[("", _("As the tier says")), *DELIVERIES.items()],
        help_text=HINT,
    )

    progress = forms.ChoiceField(
        label=_("Progress in streams"),
        required=False,
        choices=[
            ("", _("As reasoning, before the answer begins")),
            (ProgressForm.EVENTS.value, _("As named events")),
            (ProgressForm.OFF.value, _("None")),
        ],
        help_text=_(
            "What plans and steps are doing. Clients that write whatever comes into "
            "files want none; some clients crash on named events."
        ),
    )

    data_class = forms.ChoiceField(
        label=_("Data class of its prompts"),
        required=False,
        choices=[
            ("", _("Not stated")),
            *DATA_CLASS_LABELS.items(),
        ],
        help_text=_(
            "At least. Rules of the policy depend on it; a request can state a higher "
            "one."
        ),
    )

    def __init__(
        self, data: Any, workers: Sequence[str], api_key: ApiKey | None = None
    ) -> None:
        super().__init__(data, initial=_initial(api_key))
        self._keep_scopes(api_key.scopes if api_key else ())
        kept = api_key.allowed_workers if api_key else ()
        # A worker that has gone since stays to be seen, and to be taken off.
        names = list(dict.fromkeys([*workers, *kept]))
        if names:
            field = self.fields["allowed_workers"]
            assert isinstance(field, forms.MultipleChoiceField)
            field.choices = [(name, name) for name in names]
        else:
            del self.fields["allowed_workers"]

    def _keep_scopes(self, kept: Iterable[str]) -> None:
        """Let a key keep what no new key is offered."""
        field = self.fields["scopes"]
        assert isinstance(field, forms.MultipleChoiceField)
        offered = {scope.value: _(str(scope.label)) for scope in OFFERED_SCOPES}
        others = {each: _(str(Scope(each).label)) for each in kept}
        field.choices = list({**offered, **others}.items())

    @property
    def settings(self) -> dict[str, Any]:
        """Return what the key shall be, in the words of the service."""
        return {name: self.cleaned_data[name] for name in KEY_SETTINGS & {*self.fields}}


KEY_SETTINGS = {
    "name",
    "scopes",
    "allowed_tiers",
    "allowed_workers",
    "requests_per_minute",
    "tokens_per_minute",
    "always_include_usage",
    "delivery",
    "progress",
    "data_class",
}


def _initial(api_key: ApiKey | None) -> dict[str, Any]:
    if api_key is None:
        return {"scopes": [scope.value for scope in DEFAULT_SCOPES]}
    return {name: getattr(api_key, name) for name in KEY_SETTINGS}


class NewKeyForm(KeyForm):
    """What a new API key may do, for how long, and what it may spend."""

    error_names = {
        "lifetime": "lifetime_days",
        "limit_usd": "budget_usd",
        "period": "budget_period",
    }
    lifetime_days = forms.ChoiceField(
        label=_("Active for"),
        choices=list(LIFETIMES.items()),
        initial="90",
    )
    budget_usd = numbers.dollars(_("Cost limit (US dollars)"), required=False)
    budget_period = forms.ChoiceField(
        label=_("Per"),
        choices=list(BUDGET_PERIODS.items()),
        initial="day",
        required=False,
    )
    once = forms.CharField(widget=forms.HiddenInput, required=False, max_length=64)

    @property
    def lifetime(self) -> timedelta:
        """Return how long the key shall work."""
        return timedelta(days=int(self.cleaned_data["lifetime_days"]))

    @property
    def budget(self) -> dict[str, str] | None:
        """Return the budget that caps the key. None: it has none of its own."""
        limit = self.cleaned_data["budget_usd"]
        if limit is None:
            return None
        period = self.cleaned_data["budget_period"] or "day"
        return {"period": period, "limit_usd": format(limit, "f")}


class RotateForm(ConsoleForm):
    """How long the old key goes on working beside the new one."""

    overlap_hours = forms.ChoiceField(
        label=_("The old key stays active for"),
        choices=list(OVERLAPS.items()),
        initial="24",
    )
    once = forms.CharField(widget=forms.HiddenInput, required=False, max_length=64)

    @property
    def overlap(self) -> timedelta:
        """Return how long both keys work."""
        return timedelta(hours=int(self.cleaned_data["overlap_hours"]))
