"""The form with which people make their account."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import SignupForm
from allauth.core import context
from django import forms

from apps.accounts.adapters import invitation_of


class SignUpForm(SignupForm):  # type: ignore[misc]
    """Asks for a name, an address and a password; an invitation fixes the address."""

    name = forms.CharField(
        max_length=150,
        label="Name",
        widget=forms.TextInput(attrs={"autocomplete": "name", "autofocus": True}),
    )
    field_order = ("name", "email", "password1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.invitation = invitation_of(context.request)
        if self.invitation is not None:
            # Disabled: Django takes the initial value, whatever is sent.
            self.initial["email"] = self.invitation.email
            self.fields["email"].disabled = True
