"""Adapts django-allauth: sign-up rules, sealed secrets, matching of accounts.

Sign-up follows the setting SIGN_UP. What second factors keep is encrypted at rest. A
person who signs in by OpenID gets the account of their verified address.
"""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone, translation
from django.utils.translation import gettext

from apps.accounts.digests import INVITATION_MAIL, digests_of
from apps.accounts.models import Invitation, User
from apps.accounts.selectors import invitation_find
from apps.accounts.types import SESSION_INVITATION, SESSION_INVITATION_PROOF
from apps.core.errors import NotFound
from apps.core.keyring import seal, unseal
from apps.core.plain_text import plain

SEALED_FOR = b"second-factor"
CONFIRMATION_FAILED = "account/messages/email_confirmation_failed.txt"
"""The library's own words."""


def invitation_of(request: HttpRequest) -> Invitation | None:
    """Return the open invitation this visitor came with, if there is one."""
    token = request.session.get(SESSION_INVITATION)
    try:
        return invitation_find(token) if token else None
    except NotFound:
        return None


def _came_by_mail(request: HttpRequest) -> bool:
    token = request.session[SESSION_INVITATION]
    proof = request.session.get(SESSION_INVITATION_PROOF, "")
    return proof in digests_of(token, purpose=INVITATION_MAIL)


def _on_this_site(url: str) -> str:
    """Return a link to the same page at the site's own address."""
    parts = urlsplit(url)
    return f"{settings.CONDUCTOR_URL}{urlunsplit(('', '', *parts[2:]))}"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-in by email address; sign-up as far as the site allows it."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Say whether this visitor may make an account."""
        if settings.SIGN_UP == "invite":
            return invitation_of(request) is not None
        return bool(settings.SIGN_UP == "open")

    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        """Say whether the address needs no confirmation: they came by its mail."""
        invitation = invitation_of(request)
        is_invited = invitation is not None and invitation.email == email.lower()
        if is_invited and _came_by_mail(request):
            return True
        return bool(super().is_email_verified(request, email))

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Count an address as its owner's, unless another account signs in with it."""
        others = User.objects.exclude(pk=email_address.user_id)
        if others.filter(email=email_address.email).exists():
            facts = {"email": email_address.email}
            self.add_message(request, messages.ERROR, CONFIRMATION_FAILED, facts)
            return False
        return bool(super().confirm_email(request, email_address))

    def send_mail(
        self, template_prefix: str, email: str, context: dict[str, Any]
    ) -> None:
        """Send a mail whose links lead to CONDUCTOR_URL.

        The library takes their host and port from the request, so from the visitor.
        """
        links = {
            name: _on_this_site(value)
            for name, value in context.items()
            if name.endswith("_url") and isinstance(value, str)
        }
        with translation.override(settings.LANGUAGE_CODE):  # mails are in English
            super().send_mail(template_prefix, email, {**context, **links})

    def save_user(
        self, request: HttpRequest, user: User, form: Any, commit: bool = True
    ) -> User:
        """Save a new user with the name they gave.

        Of several requests with one address at once, all but one are sent to sign in.
        """
        user.name = form.cleaned_data.get("name", "") or user.name
        try:
            with transaction.atomic():
                saved: User = super().save_user(request, user, form, commit)
        except IntegrityError:
            messages.error(request, gettext("There is an account with this address."))
            raise ImmediateHttpResponse(redirect("account_login")) from None
        return saved

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Return to the invitation; the home page helps those who have no team."""
        token = request.session.get(SESSION_INVITATION)
        return f"/invitations/{token}/" if token else settings.LOGIN_REDIRECT_URL

    def pre_login(
        self, request: HttpRequest, user: User, **kwargs: Any
    ) -> HttpResponse | None:
        """Sign in accounts made by the operator without waiting for a mail."""
        vouch_for(user)
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Return to the account's page."""
        return "/account/"


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Seals TOTP secrets and the seeds of recovery codes with the site's keys."""

    def encrypt(self, text: str) -> str:
        """Return `text` sealed, in ASCII."""
        sealed = seal(text.encode(), context=SEALED_FOR)
        return base64.b64encode(sealed).decode("ascii")

    def decrypt(self, encrypted_text: str) -> str:
        """Return what `encrypt` was given.

        Raises: SecretUnreadable if the key is gone or the text is not one of ours.
        """
        sealed = base64.b64decode(encrypted_text)
        return unseal(sealed, context=SEALED_FOR).decode()

    def generate_authenticator_name(self, user: User, type: str) -> str:
        """Propose a name for a new passkey."""
        count = Authenticator.objects.filter(user=user, type=type).count()
        return f"Passkey {count + 1}" if count else "Passkey"

    def _get_site_name(self) -> str:
        return "Conductor"


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Knows people who come from the site's OpenID provider by their address."""

    def authenticate_by_email(self, sociallogin: SocialLogin) -> Any:
        """Return the user with a verified address of the provider, and the address."""
        found = super().authenticate_by_email(sociallogin)
        if found is not None:
            user, email = found
            vouch_for(user)
            _hand_over(user, email)
        return found

    def is_open_for_signup(
        self, request: HttpRequest, sociallogin: SocialLogin
    ) -> bool:
        """Return True if a person without an account may get one."""
        if settings.SIGN_UP != "invite":
            return bool(settings.SIGN_UP == "open")
        addresses = [a.email for a in sociallogin.email_addresses if a.verified]
        return any(_is_invited(address) for address in addresses)

    def populate_user(
        self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]
    ) -> User:
        """Fill in the address, in lower case, and the name."""
        user: User = super().populate_user(request, sociallogin, data)
        parts = (data.get("first_name") or "", data.get("last_name") or "")
        user.name = plain(data.get("name") or " ".join(parts).strip())[:150]
        user.email = user.email.lower()
        return user

    def get_requests_session(self) -> Any:
        """Return an HTTP session that obeys no proxy of the process's environment."""
        session = super().get_requests_session()
        session.trust_env = False
        return session


def vouch_for(user: User) -> None:
    """Count the address as confirmed if the operator made the account.

    Every other way of making one leaves a row for the address.
    """
    if not EmailAddress.objects.filter(user=user).exists():
        EmailAddress.objects.create(
            user=user, email=user.email, primary=True, verified=True
        )


def _is_invited(email: str) -> bool:
    # Across teams: before somebody has an account there is no team to ask for.
    waiting = Invitation.objects.across_teams().filter(
        email=email.lower(), accepted_at=None, revoked_at=None
    )
    return waiting.filter(expires_at__gt=timezone.now()).exists()


def _hand_over(user: User, email: str) -> None:
    """Give the account to the owner of its address, as the provider knows them.

    Another person may have made it if the address was never confirmed. Then its
    password and second factors go, and with the password all its sessions.
    """
    addresses = EmailAddress.objects.filter(user=user, email__iexact=email)
    if addresses.filter(verified=True).exists():
        return
    if not SocialAccount.objects.filter(user=user).exists():
        user.set_unusable_password()
        user.save(update_fields=["password"])
        Authenticator.objects.filter(user=user).delete()
    addresses.update(verified=True)
