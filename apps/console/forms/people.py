"""Teams, members and invitations: what is typed in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from apps.accounts.models import Role
from apps.console.forms import numbers
from apps.console.forms.base import ConsoleForm
from apps.runs.models import SUSPENSION_REASON_LENGTH

ROLE_WORDS = {
    Role.OWNER: "everything, other owners and the team itself included",
    Role.ADMIN: "members, API keys, pools and budgets; starts runs",
    Role.MEMBER: "starts runs",
    Role.REVIEWER: "reads all runs and the ledger, places legal holds, starts no runs",
    Role.VIEWER: "reads runs",
}


def role_choices(roles: Sequence[str]) -> list[tuple[str, str]]:
    """Return roles to choose from, each with what it may do."""
    return [
        (role.value, f"{role.label}: {ROLE_WORDS[role]}")
        for role in Role
        if role.value in roles
    ]


class TeamForm(ConsoleForm):
    """The name of a team."""

    name = forms.CharField(
        label="Name of the team",
        max_length=100,
        error_messages={"required": "Give the team a name."},
    )


class RatesForm(ConsoleForm):
    """How much a team may ask for in a minute."""

    requests_per_minute = numbers.requests_per_minute()
    tokens_per_minute = numbers.tokens_per_minute()


class ConfirmationForm(ConsoleForm):
    """The slug of a team, typed to show that deleting it is meant."""

    confirmation = forms.CharField(
        error_messages={"required": "Type the words shown above."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, data: Any, slug: str) -> None:
        super().__init__(data)
        self.fields["confirmation"].label = f"Type {slug} to confirm"


class SuspensionForm(ConsoleForm):
    """Why all runs are stopped."""

    reason = forms.CharField(
        label="Reason",
        max_length=SUSPENSION_REASON_LENGTH,
        help_text="Shown to everyone who tries to start a run, and recorded.",
        error_messages={"required": "Write why the runs are stopped."},
    )


class RoleForm(ConsoleForm):
    """The role of a member."""

    role = forms.ChoiceField(widget=forms.RadioSelect)

    def __init__(
        self, data: Any, roles: Sequence[str], initial: dict[str, Any] | None = None
    ) -> None:
        super().__init__(data, initial=initial)
        self.fields["role"] = forms.ChoiceField(
            label="Role",
            choices=role_choices(roles),
            widget=forms.RadioSelect,
            error_messages={
                "required": "Choose a role.",
                "invalid_choice": "Choose one of these roles.",
            },
        )


class InvitationForm(RoleForm):
    """Whom to invite, as what."""

    field_order = ("email", "role")
    email = forms.EmailField(
        label="Email address",
        max_length=254,
        error_messages={"required": "Write an email address."},
        widget=forms.EmailInput(
            attrs={"autocomplete": "off", "placeholder": "name@example.com"}
        ),
    )

    def __init__(self, data: Any, roles: Sequence[str]) -> None:
        super().__init__(data, roles, {"role": Role.MEMBER.value})
