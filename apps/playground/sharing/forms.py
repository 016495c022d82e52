"""Shape of what people send to make a share link."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.sharing.models import NOTE_LENGTH
from apps.sharing.types import SharingStatus

HOURS = {
    1: _("1 hour"),
    24: _("1 day"),
    24 * 7: _("7 days"),
    24 * 30: _("30 days"),
    24 * 90: _("90 days"),
    24 * 365: _("A year"),
}
ANSWER, PLAN = "answer", "plan"


class ShareForm(forms.Form):
    """How long a link works and what it shows."""

    hours = forms.TypedChoiceField(label=_("Valid for"), coerce=int)
    shows = forms.ChoiceField(
        label=_("What is shown"),
        choices=[
            (ANSWER, _("Prompt and answer")),
            (PLAN, _("Also the plan and the answers of its steps")),
        ],
        widget=forms.RadioSelect,
        initial=ANSWER,
    )
    has_name = forms.BooleanField(label=_("Show my name"), required=False)
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=NOTE_LENGTH,
        help_text=_(
            "For your team, for example who it is for. Visitors do not see it."
        ),
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
    )

    def __init__(self, data: Any, status: SharingStatus) -> None:
        """Offer times up to the longest that the team allows."""
        super().__init__(data, label_suffix="")
        offered = _offered(status.max_days)
        self.fields["hours"] = forms.TypedChoiceField(
            label=_("Valid for"),
            coerce=int,
            choices=list(offered.items()),
            initial=max(hours for hours in offered if hours <= 24 * 7),
            widget=forms.Select(attrs={"class": "input"}),
        )

    @property
    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        data = self.cleaned_data
        return {
            "hours": data["hours"],
            "note": data["note"],
            "has_plan": data["shows"] == PLAN,
            "has_name": data["has_name"],
        }


def _offered(max_days: int) -> dict[int, Any]:
    longest = max_days * 24
    offered = {hours: words for hours, words in HOURS.items() if hours <= longest}
    if longest in offered:
        return offered
    words = gettext("{number} days").format(number=max_days)
    return {**offered, longest: words}
