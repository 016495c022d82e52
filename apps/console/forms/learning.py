"""What a team decides about learning."""

from __future__ import annotations

from django import forms

from apps.console.forms.base import ConsoleForm


class LearningForm(ConsoleForm):
    """The consent of a team."""

    learns_from_requests = forms.BooleanField(
        label="Learn from the runs of people and API keys",
        required=False,
        help_text="Only from runs that were rated or reviewed. One person or key has "
        "the weight of 50 runs, and of a twentieth of all runs, at most.",
    )
