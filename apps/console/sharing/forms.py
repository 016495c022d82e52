"""Forms of share links: what a team allows, and which links are wanted."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.console.forms.base import ConsoleForm
from apps.core.data_classes import DATA_CLASSES
from apps.sharing.models import LONGEST_DAYS
from apps.sharing.types import LinkFilters, LinkState, SharingStatus


class SharingForm(ConsoleForm):
    """Whether, for how long and up to which data class a team shares."""

    is_on = forms.BooleanField(label=_("Allow share links"), required=False)
    max_days = forms.IntegerField(
        label=_("Longest time in days"),
        min_value=1,
        max_value=LONGEST_DAYS,
        help_text=format_lazy(
            _("From 1 to {most}. Links made before keep their time."), most=LONGEST_DAYS
        ),
        error_messages={
            "required": _("Write a number of days."),
            "invalid": _("Write a whole number of days."),
            "min_value": _("Write 1 or more."),
            "max_value": format_lazy(_("Write {number} or less."), number=LONGEST_DAYS),
        },
    )
    highest_class = forms.ChoiceField(
        label=_("Highest data class"),
        choices=[(name, _(name.capitalize())) for name in DATA_CLASSES],
        help_text=_(
            "What is stated or found to be above it is not shared, and links to it "
            "stop working."
        ),
    )

    def __init__(self, data: Any, status: SharingStatus) -> None:
        """Begin with what the team chose."""
        initial = {
            "is_on": status.is_on,
            "max_days": status.max_days,
            "highest_class": status.highest_class,
        }
        super().__init__(data, initial=initial)


class LinkFilterForm(ConsoleForm):
    """Which links are listed."""

    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            ("", _("Any state")),
            (LinkState.OPEN.value, capfirst(_("open"))),
            (LinkState.STOPPED.value, capfirst(_("stopped"))),
            (LinkState.EXPIRED.value, capfirst(_("expired"))),
            (LinkState.REVOKED.value, capfirst(_("revoked"))),
        ],
    )
    member = forms.ChoiceField(label=_("Made by"), required=False)

    def __init__(self, data: Any, people: Sequence[User]) -> None:
        """Offer these people."""
        super().__init__(data)
        names = [(str(user.id), user.get_full_name()) for user in people]
        self.fields["member"] = forms.ChoiceField(
            label=_("Made by"),
            required=False,
            choices=[("", _("Anyone")), *names],
            widget=forms.Select(attrs={"class": "input"}),
        )

    @property
    def filters(self) -> LinkFilters:
        """Return what is wanted; a choice that is none counts for nothing."""
        data = self.cleaned_data if self.is_valid() else {}
        state, member = data.get("state"), data.get("member")
        return LinkFilters(
            state=LinkState(state) if state else None,
            user_id=uuid.UUID(member) if member else None,
        )
