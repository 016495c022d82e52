"""Shape of what people send to make a share link."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.sharing.models import NOTE_LENGTH
from apps.sharing.types import SharingStatus
from apps.web.languages import EnglishForm

HOURS = {
    1: "1 hour",
    24: "1 day",
    24 * 7: "7 days",
    24 * 30: "30 days",
    24 * 90: "90 days",
    24 * 365: "A year",
}
ANSWER, PLAN = "answer", "plan"


class ShareForm(EnglishForm):
    """How long a link works and what it shows."""

    hours = forms.TypedChoiceField(label="Works for", coerce=int)
    shows = forms.ChoiceField(
        label="What is shown",
        choices=[
            (ANSWER, "Prompt and answer"),
            (PLAN, "The plan and the answers of its steps too"),
        ],
        widget=forms.RadioSelect,
        initial=ANSWER,
    )
    has_name = forms.BooleanField(label="Show my name", required=False)
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=NOTE_LENGTH,
        help_text="For your team, for example who it is for. Visitors do not see it.",
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
    )

    def __init__(self, data: Any, status: SharingStatus) -> None:
        """Offer times up to the longest that the team allows."""
        super().__init__(data, label_suffix="")
        offered = _offered(status.max_days)
        self.fields["hours"] = forms.TypedChoiceField(
            label="Works for",
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


def _offered(max_days: int) -> dict[int, str]:
    longest = max_days * 24
    offered = {hours: words for hours, words in HOURS.items() if hours <= longest}
    return offered if longest in offered else {**offered, longest: f"{max_days} days"}
