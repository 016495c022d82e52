"""Teams, members and invitations: what is typed in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Role
from apps.console.forms import numbers
from apps.console.forms.base import ConsoleForm
from apps.runs.models import SUSPENSION_REASON_LENGTH

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

ROLE_WORDS = {
    Role.OWNER: _("everything, other owners and the team itself included"),
    Role.ADMIN: _("members, API keys, pools and budgets; starts runs"),
    Role.MEMBER: _("starts runs"),
    Role.REVIEWER: _(
        "reads all runs and the ledger, places legal holds, starts no runs"
    ),
    Role.VIEWER: _("reads runs"),
}


ROLE_NOUNS = {
    Role.OWNER: _("owner"),
    Role.ADMIN: _("admin"),
    Role.MEMBER: _("member"),
    Role.REVIEWER: _("reviewer"),
    Role.VIEWER: _("viewer"),
}
"""Roles within a sentence."""


def role_noun(role: str) -> str:
    """Return a role as a word within a sentence."""
    return str(ROLE_NOUNS[Role(role)])


def role_choices(roles: Sequence[str]) -> list[tuple[str, StrOrPromise]]:
    """Return roles to choose from, each with what it may do."""
    return [
        (role.value, format_lazy("{}: {}", _(str(role.label)), ROLE_WORDS[role]))
        for role in Role
        if role.value in roles
    ]


class TeamForm(ConsoleForm):
    """The name of a team."""

    name = forms.CharField(
        label=_("Name of the team"),
        max_length=100,
        error_messages={"required": _("Give the team a name.")},
    )


class RatesForm(ConsoleForm):
    """How much a team may ask for in a minute."""

    requests_per_minute = numbers.requests_per_minute()
    tokens_per_minute = numbers.tokens_per_minute()


class ConfirmationForm(ConsoleForm):
    """The slug of a team, typed to show that deleting it is meant."""

    confirmation = forms.CharField(
        error_messages={"required": _("Type the words shown above.")},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, data: Any, slug: str) -> None:
        super().__init__(data)
        self.fields["confirmation"].label = gettext("Type %(name)s to confirm") % {
            "name": slug
        }


class SuspensionForm(ConsoleForm):
    """Why all runs are stopped."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=SUSPENSION_REASON_LENGTH,
        help_text=_("Shown to everyone who tries to start a run, and recorded."),
        error_messages={"required": _("Write why the runs are stopped.")},
    )


class RoleForm(ConsoleForm):
    """The role of a member."""

    role = forms.ChoiceField(widget=forms.RadioSelect)

    def __init__(
        self, data: Any, roles: Sequence[str], initial: dict[str, Any] | None = None
    ) -> None:
        super().__init__(data, initial=initial)
        self.fields["role"] = forms.ChoiceField(
            label=_("Role"),
            choices=role_choices(roles),
            widget=forms.RadioSelect,
            error_messages={
                "required": _("Choose a role."),
                "invalid_choice": _("Choose one of these roles."),
            },
        )


class InvitationForm(RoleForm):
    """Whom to invite, as what."""

    field_order = ("email", "role")
    email = forms.EmailField(
        label=_("Email address"),
        max_length=254,
        error_messages={"required": _("Write an email address.")},
        widget=forms.EmailInput(
            attrs={"autocomplete": "off", "placeholder": "name@example.com"}
        ),
    )

    def __init__(self, data: Any, roles: Sequence[str]) -> None:
        super().__init__(data, roles, {"role": Role.MEMBER.value})
