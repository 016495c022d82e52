"""Forms of retention and legal holds."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar, cast

from django import forms
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.governance.models import REASON_LENGTH
from apps.governance.types import MAX_DAYS, MIN_DAYS, MIN_IDLE_DAYS

LEAST = _("Write {number} or more, or nothing.")
MOST = _("Write {number} or less, or nothing.")


class RetentionForm(ConsoleForm):
    """The retention period of a team."""

    days = forms.IntegerField(
        label=_("Days"),
        required=False,
        min_value=MIN_DAYS,
        max_value=MAX_DAYS,
        error_messages={
            "invalid": _("Write a whole number of days."),
            "min_value": format_lazy(LEAST, number=MIN_DAYS),
            "max_value": format_lazy(MOST, number=f"{MAX_DAYS:,}"),
        },
        help_text=format_lazy(
            _(
                "From {least} to {most} (seven years). The EU AI Act asks for logs of "
                "six months, so less is not possible."
            ),
            least=MIN_DAYS,
            most=f"{MAX_DAYS:,}",
        ),
    )

    def __init__(self, data: Any, days: int | None, empty: str) -> None:
        """Begin with the team's choice; `empty` says what no number means."""
        super().__init__(data, initial={"days": days})
        self.fields["days"].widget.attrs["placeholder"] = empty


class IdleForm(ConsoleForm):
    """Which conversations are deleted because they are not used."""

    error_names: ClassVar[dict[str, str]] = {"conversation_days": "days"}
    days = forms.IntegerField(
        label=_("Days without a turn"),
        required=False,
        min_value=MIN_IDLE_DAYS,
        max_value=MAX_DAYS,
        error_messages={
            "invalid": _("Write a whole number of days."),
            "min_value": format_lazy(LEAST, number=MIN_IDLE_DAYS),
            "max_value": format_lazy(MOST, number=f"{MAX_DAYS:,}"),
        },
        help_text=format_lazy(
            _("From {least} to {most}. Empty: none is deleted."),
            least=MIN_IDLE_DAYS,
            most=f"{MAX_DAYS:,}",
        ),
    )
    keeps_pinned = forms.BooleanField(
        label=_("Keep pinned conversations"), required=False
    )
    counted = forms.CharField(required=False, widget=forms.HiddenInput)
    """The choice whose effect the page has shown: `choice`."""

    @property
    def choice(self) -> str:
        """Return the choice, to be compared with the one that was counted."""
        data = self.cleaned_data
        return f"{data['days']} {data['keeps_pinned']}"

    @property
    def must_be_counted(self) -> bool:
        """Say whether people have yet to see what the choice deletes."""
        data = self.cleaned_data
        return data["days"] is not None and data["counted"] != self.choice

    def note_counted(self) -> None:
        """Remember in the page that it shows the effect of this choice."""
        data = cast(QueryDict, self.data).copy()
        data["counted"] = self.choice
        self.data = data


class HoldForm(ConsoleForm):
    """What to keep, and why."""

    run_id = forms.UUIDField(
        label=_("Run"),
        required=False,
        help_text=_("The id of a run. Empty: everything of the team."),
        error_messages={"invalid": _("This is no id of a run.")},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_LENGTH,
        help_text=_("Recorded permanently in the ledger."),
        error_messages={"required": _("Write why it must be kept.")},
        widget=forms.TextInput(attrs={"placeholder": _("Matter and requester")}),
    )

    @property
    def wanted_run(self) -> uuid.UUID | None:
        """Return the run to keep; None: everything."""
        run_id: uuid.UUID | None = self.cleaned_data["run_id"]
        return run_id
