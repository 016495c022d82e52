"""Budgets and the period of the usage page: what is typed in or chosen."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiKey, Membership
from apps.console.forms import numbers
from apps.console.forms.base import ConsoleForm

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

KINDS = {
    "team": _("The whole team"),
    "member": _("One member"),
    "key": _("One API key"),
}
PERIODS = {"day": _("A day"), "month": _("A calendar month"), "run": _("Each run")}
USAGE_DAYS = {"7": _("Last 7 days"), "30": _("Last 30 days"), "90": _("Last 90 days")}


class LimitForm(ConsoleForm):
    """The limit of a budget that exists."""

    limit_usd = numbers.dollars(_("Cost limit (US dollars)"))


class BudgetForm(ConsoleForm):
    """A new budget: for whom, how long, how much."""

    error_names = {"user_id": "user", "api_key_id": "api_key"}
    kind = forms.ChoiceField(
        label=_("For whom"),
        choices=list(KINDS.items()),
        initial="team",
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose for whom the budget is.")},
    )
    user = forms.ChoiceField(
        label=_("Member"),
        required=False,
        error_messages={"invalid_choice": _("Choose a member of this team.")},
    )
    api_key = forms.ChoiceField(
        label=_("API key"),
        required=False,
        error_messages={"invalid_choice": _("Choose a working key of this team.")},
    )
    period = forms.ChoiceField(
        label=_("For how long"),
        choices=list(PERIODS.items()),
        initial="month",
        widget=forms.RadioSelect,
        help_text=_("Days and months begin at midnight UTC."),
    )
    limit_usd = numbers.dollars(_("Cost limit (US dollars)"))

    def __init__(
        self,
        data: Any,
        members: Iterable[Membership],
        keys: Iterable[ApiKey],
        initial: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=initial)
        users = [(str(m.user_id), f"{m.user.get_full_name()}") for m in members]
        self._offer("user", _("Choose a member"), users)
        names = [(str(key.id), f"{key.name} (…{key.last_four})") for key in keys]
        self._offer("api_key", _("Choose a key"), names)

    def clean(self) -> dict[str, Any]:
        """Ask for the member or key that the budget is for."""
        data = super().clean() or {}
        kind = data.get("kind")
        if kind == "member" and not data.get("user") and "user" not in self.errors:
            self.add_error("user", _("Choose a member."))
        if kind == "key" and not data.get("api_key") and "api_key" not in self.errors:
            self.add_error("api_key", _("Choose a key."))
        return data

    @property
    def values(self) -> dict[str, Any]:
        """Return the budget in the words of the service."""
        data = self.cleaned_data
        is_member, is_key = data["kind"] == "member", data["kind"] == "key"
        return {
            "kind": data["kind"],
            "user_id": data["user"] if is_member else None,
            "api_key_id": data["api_key"] if is_key else None,
            "period": data["period"],
            "limit_usd": format(data["limit_usd"], "f"),
        }

    def _offer(
        self, name: str, prompt: StrOrPromise, choices: list[tuple[str, str]]
    ) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", prompt), *choices]


class UsageForm(forms.Form):
    """The period of the usage page; it lives in the address."""

    days = forms.ChoiceField(choices=list(USAGE_DAYS.items()), required=False)
    all = forms.BooleanField(required=False)

    @property
    def chosen_days(self) -> int:
        """Return the length of the period; one that makes no sense is ignored."""
        return int(self.cleaned_data.get("days") or 30)

    @property
    def shows_all(self) -> bool:
        """Say whether every row is wanted, however many there are."""
        return bool(self.cleaned_data.get("all"))

    def since(self, now: datetime) -> datetime:
        """Return the midnight UTC with which the period begins."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight - timedelta(days=self.chosen_days - 1)
