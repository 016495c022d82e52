"""The forms of django-allauth that are other than its own.

Sign-up asks for a name and honours invitations. Answers of passkeys come from outside,
and django-allauth lets some broken ones through as errors of the server.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from allauth.account.forms import AddEmailForm, LoginForm, SignupForm
from allauth.account.internal.flows.email_verification import (
    send_verification_email_to_address,
)
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django import forms
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from apps.accounts.adapters import invitation_of
from apps.core.plain_text import DISRUPTIVE_NAME, is_plain

UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, struct.error)
"""What reading a broken answer raises."""


def check_plain(name: str) -> None:
    """Raise ValidationError for a name that would change the text around it."""
    if not is_plain(name):
        raise forms.ValidationError(gettext(DISRUPTIVE_NAME))


class SignUpForm(SignupForm):  # type: ignore[misc]
    """Asks for a name, an address and a password; an invitation fixes the address."""

    name = forms.CharField(
        max_length=150,
        label=gettext_lazy("Name"),
        validators=[check_plain],
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


class SignInForm(LoginForm):  # type: ignore[misc]
    """Fills in the address of an invited person."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        invitation = invitation_of(context.request)
        if invitation is not None:
            self.initial.setdefault("login", invitation.email)


class AddressForm(AddEmailForm):  # type: ignore[misc]
    """Asks for another address, which counts once its link has been opened."""

    def save(self, request: HttpRequest) -> EmailAddress:
        """Put the new address in place of one that waits, and mail its link.

        The library takes the last unconfirmed address for the one that waits. Where
        addresses are never confirmed, that is the one the person signs in with.
        """
        with transaction.atomic():
            waiting = EmailAddress.objects.filter(user=self.user, verified=False)
            waiting.exclude(email=self.user.email).delete()
            address = EmailAddress.objects.create(
                user=self.user, email=self.cleaned_data["email"]
            )
        send_verification_email_to_address(request, address)
        return address


class _CarefulCredential:
    """Turns a passkey's answer that cannot be read into an error of the form."""

    def clean_credential(self) -> Any:
        """Return what the answer proves."""
        return _read(super().clean_credential)  # type: ignore[misc]


class PasskeySignIn(_CarefulCredential, LoginWebAuthnForm):  # type: ignore[misc]
    """Signs in by a passkey alone."""


class PasskeyProof(_CarefulCredential, AuthenticateWebAuthnForm):  # type: ignore[misc]
    """Takes a passkey as the second factor."""


class PasskeyProofAgain(_CarefulCredential, ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """Takes a passkey as proof that it is still the same person."""


class PasskeyAddition(AddWebAuthnForm):  # type: ignore[misc]
    """Adds a passkey to an account."""

    passwordless = forms.BooleanField(
        label=gettext_lazy("Sign in with it instead of a password"),
        help_text=gettext_lazy(
            "It then checks your fingerprint, your face or a PIN itself."
        ),
        required=False,
        initial=True,
    )

    def clean(self) -> Any:
        """Return the passkey's name and its answer."""
        return _read(super().clean)


def _read(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except UNREADABLE as error:
        raise get_adapter().validation_error("incorrect_code") from error
