"""What the tests of second factors share: a person with an authenticator app."""

from __future__ import annotations

import time
from dataclasses import dataclass

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.factories import PASSWORD

PERIOD_S = 30


@dataclass(frozen=True)
class App:
    """An authenticator app that has learned a secret."""

    secret: str

    def code(self) -> str:
        now = int(time.time()) // PERIOD_S
        return str(format_hotp_value(hotp_value(self.secret, now)))


def sign_in(client: Client, user: User):
    values = {"login": user.email, "password": PASSWORD}
    return client.post(reverse("account_login"), values)


def prove(client: Client) -> None:
    """Give the password once more, as pages that change second factors want it."""
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})


def set_up_app(client: Client) -> App:
    """Sign-in has happened: set up an app as its page says."""
    prove(client)
    page = client.get(reverse("mfa_activate_totp"))
    app = App(page.context["form"].secret)
    response = client.post(reverse("mfa_activate_totp"), {"code": app.code()})
    assert response["Location"] == reverse("mfa_view_recovery_codes")
    return app
