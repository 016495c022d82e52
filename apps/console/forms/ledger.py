"""The filters of the ledger's page, as they stand in its address."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.audit.browsing.search import GROUP, EntryFilter
from apps.audit.models import ExportFormat
from apps.console.forms.base import ConsoleForm
from apps.core.data_classes import DATA_CLASSES

OUTCOMES = {
    "success": _("Success"),
    "failure": _("Failure"),
    "denied": _("Denied"),
    "cancelled": _("Cancelled"),
}
DATA_CLASS_OR_HIGHER = {
    "public": _("Public or higher"),
    "internal": _("Internal or higher"),
    "confidential": _("Confidential or higher"),
    "restricted": _("Restricted or higher"),
}
MAX_SEQ_DIGITS = 18
"""All of these fit every database's integers."""


class ExportForm(ConsoleForm):
    """How entries are exported."""

    format = forms.ChoiceField(
        label=_("Format"),
        choices=[(each.value, _(each.label)) for each in ExportFormat],
        help_text=_(
            "JSON Lines keeps every entry byte for byte. CSV opens in a spreadsheet; "
            "no cell of it is run as a formula. A bundle also proves, without this "
            "site, that its entries are in the ledger."
        ),
    )
    texts = forms.BooleanField(
        required=False,
        label=_("With prompts, answers and other texts"),
        help_text=_(
            "They leave the encrypted store. Whoever has the file can read them."
        ),
    )


class LedgerForm(forms.Form):
    """Which entries of the ledger."""

    action = forms.CharField(max_length=64, required=False)
    actor = forms.CharField(max_length=200, required=False)
    subject = forms.UUIDField(
        required=False, error_messages={"invalid": _("This is not an id.")}
    )
    outcome = forms.ChoiceField(
        choices=[("", _("Any outcome")), *OUTCOMES.items()], required=False
    )
    data_class = forms.ChoiceField(
        choices=[
            ("", _("Any or none")),
            *((name, DATA_CLASS_OR_HIGHER[name]) for name in DATA_CLASSES),
        ],
        required=False,
    )
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)
    q = forms.CharField(max_length=200, required=False)
    only = forms.ChoiceField(
        choices=[("", _("Everything")), ("rare", _("Without routine steps of runs"))],
        required=False,
    )
    before = forms.RegexField(rf"^\d{{1,{MAX_SEQ_DIGITS}}}$", required=False)
    after = forms.RegexField(rf"^\d{{1,{MAX_SEQ_DIGITS}}}$", required=False)

    def __init__(self, data: QueryDict, actions: Iterable[str]) -> None:
        super().__init__(data)
        self.actions = list(actions)
        self.groups = sorted({n.partition(".")[0] + GROUP for n in self.actions})
        self.is_valid()

    @property
    def wanted(self) -> EntryFilter:
        """Return the filter; what was not understood filters nothing."""
        data = self.cleaned_data
        return EntryFilter(
            action=data.get("action", ""),
            actor=data.get("actor", ""),
            subject_id=data.get("subject"),
            outcome=data.get("outcome", ""),
            data_class=data.get("data_class") or None,
            since=_midnight(data.get("since")),
            until=_midnight(data.get("until"), days=1),
            text=data.get("q", ""),
            is_rare=data.get("only") == "rare",
        )

    @property
    def place(self) -> dict[str, int]:
        """Return where the page begins, as `entries_find` takes it."""
        for name in ("before", "after"):
            if self.cleaned_data.get(name):
                return {name: int(self.cleaned_data[name])}
        return {}

    @property
    def query(self) -> str:
        """Return the filters as they stand in an address, without the place."""
        kept = QueryDict(mutable=True)
        for name in self.fields:
            value = self.data.get(name, "").strip()
            if value and name not in ("before", "after"):
                kept[name] = value
        return kept.urlencode()


def _midnight(day: date | None, days: int = 0) -> datetime | None:
    """Return the beginning of a day in UTC, or of the one `days` after it."""
    if day is None or day == date.max:
        return None
    return datetime.combine(day + timedelta(days=days), time.min, UTC)
