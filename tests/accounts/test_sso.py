"""Single sign-on: off unless set, matched by verified address, never a way around."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from apps.accounts.digests import INVITATION_MAIL, digests_of
from apps.accounts.models import Role, User
from apps.accounts.services import invitation_create
from conductor_site.single_sign_on import openid_providers
from tests.accounts.openid import CLIENT_ID, CLIENT_SECRET, Provider, serving_provider
from tests.accounts.second_factors import set_up_app, sign_in
from tests.factories import ACTOR, PASSWORD, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db

ANN = {"sub": "4711", "email": "Ann@Example.org", "email_verified": True, "name": "Ann"}


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    """A provider the site trusts, where Ann signs in."""
    with serving_provider() as found:
        found.claims = dict(ANN)
        settings.OIDC_ISSUER, settings.OIDC_NAME = found.url, "Acme ID"
        settings.SOCIALACCOUNT_PROVIDERS = openid_providers(
            issuer=found.url,
            client_id=CLIENT_ID,
            client_secret=CLIENT_SECRET,
            name="Acme ID",
            trusts_email=False,
        )
        yield found


def start(client: Client, query: str = "process=login") -> dict[str, str]:
    """Press the button; return what the provider is asked."""
    page = client.post(f"{reverse('single_sign_on')}?{query}")
    address = urlsplit(page.context["redirect_to"])
    return {name: values[0] for name, values in parse_qs(address.query).items()}


def come_back(client: Client, state: str):
    address = reverse("openid_connect_callback", args=["sso"])
    return client.get(address, {"code": "a-code", "state": state})


def go_through(client: Client, query: str = "process=login"):
    return come_back(client, start(client, query)["state"])


def signed_in(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


def test_site_without_a_provider_has_no_button(client: Client):
    page = client.get(reverse("account_login")).content.decode()
    assert "Continue with" not in page
    assert client.post("/accounts/oidc/sso/login/").status_code == 404
    assert client.post(reverse("single_sign_on")).status_code == 404


def test_button_leads_to_the_provider(client: Client, provider: Provider):
    page = client.get(reverse("account_login")).content.decode()
    assert "Continue with Acme ID" in page
    asked = start(client)
    assert asked["client_id"] == CLIENT_ID
    assert asked["redirect_uri"].endswith("/accounts/oidc/sso/login/callback/")
    assert set(asked["scope"].split()) == {"openid", "profile", "email"}
    assert asked["code_challenge_method"] == "S256"


def test_page_that_leads_there_answers_no_form_with_a_redirect(
    client: Client, provider: Provider
):
    page = client.post(f"{reverse('single_sign_on')}?process=login")
    assert page.status_code == 200
    assert CLIENT_SECRET not in page.content.decode()


def test_following_a_link_starts_nothing(client: Client, provider: Provider):
    assert client.get(reverse("single_sign_on")).status_code == 405


def test_known_person_is_signed_in_by_verified_address(
    client: Client, provider: Provider
):
    ann = UserFactory.create(email="ann@example.org")
    assert go_through(client).status_code == 302
    assert signed_in(client) == str(ann.id)
    assert SocialAccount.objects.get().user == ann


def test_provider_is_given_the_secret_and_the_verifier(
    client: Client, provider: Provider
):
    UserFactory.create(email="ann@example.org")
    go_through(client)
    assert provider.asked[0]["client_secret"] == [CLIENT_SECRET]
    assert provider.asked[0]["code_verifier"]


def test_operators_account_keeps_its_password(client: Client, provider: Provider):
    ann = UserFactory.create(email="ann@example.org")
    go_through(client)
    ann.refresh_from_db()
    assert ann.check_password(PASSWORD)


def test_unverified_address_matches_nobody(client: Client, provider: Provider):
    UserFactory.create(email="ann@example.org")
    provider.claims["email_verified"] = False
    go_through(client)
    assert signed_in(client) is None


def test_uninvited_person_gets_no_account(client: Client, provider: Provider):
    assert "by invitation" in go_through(client).content.decode()
    assert not User.objects.exists()


def test_invited_person_gets_one(client: Client, provider: Provider):
    invite()
    go_through(client)
    user = User.objects.get()
    assert (user.email, user.name) == ("ann@example.org", "Ann")
    assert signed_in(client) == str(user.id)
    assert not user.has_usable_password()
    assert EmailAddress.objects.get().verified


def test_invitation_needs_a_verified_address(client: Client, provider: Provider):
    invite()
    provider.claims["email_verified"] = False
    go_through(client)
    assert not User.objects.exists()


@pytest.mark.parametrize(("mode", "count"), [("open", 1), ("closed", 0)])
def test_new_people_follow_the_setting(
    client: Client, provider: Provider, settings: Any, mode: str, count: int
):
    settings.SIGN_UP = mode
    go_through(client)
    assert User.objects.count() == count


def test_account_somebody_else_made_by_the_link_of_an_invitation_is_handed_over(
    client: Client, provider: Provider
):
    token = invite()
    thief = Client()
    thief.get(f"/invitations/{token}/")
    thief.post(reverse("account_signup"), {"name": "Not Ann", "password1": PASSWORD})
    ann = User.objects.get()
    set_up_app(thief)
    go_through(client)
    ann.refresh_from_db()
    assert signed_in(client) == str(ann.id)
    assert not ann.has_usable_password()
    assert not Authenticator.objects.exists()
    assert thief.get("/")["Location"].startswith(reverse("account_login"))


def test_account_made_from_the_mail_of_an_invitation_keeps_its_password(
    client: Client, provider: Provider
):
    token = invite()
    proof = digests_of(token, purpose=INVITATION_MAIL)[0]
    visitor = Client()
    visitor.get(f"/invitations/{token}/", {"proof": proof})
    visitor.post(reverse("account_signup"), {"name": "Ann", "password1": PASSWORD})
    go_through(client)
    assert User.objects.get().check_password(PASSWORD)


def test_account_whose_address_was_never_confirmed_is_handed_over(
    client: Client, provider: Provider, settings: Any
):
    settings.SIGN_UP = "open"
    person = {"name": "x", "email": "ann@example.org", "password1": PASSWORD}
    Client().post(reverse("account_signup"), person)
    go_through(client)
    ann = User.objects.get()
    assert signed_in(client) == str(ann.id)
    assert not ann.has_usable_password()


def test_second_factor_is_asked_for_all_the_same(
    client: Client, provider: Provider, settings: Any
):
    settings.MFA_TOTP_TOLERANCE = 1
    ann = UserFactory.create(email="ann@example.org")
    sign_in(client, ann)
    set_up_app(client)
    visitor = Client()
    assert go_through(visitor)["Location"] == reverse("mfa_authenticate")
    assert signed_in(visitor) is None


def test_answer_without_its_question_is_refused(client: Client, provider: Provider):
    UserFactory.create(email="ann@example.org")
    page = come_back(client, "a-state-nobody-asked-with")
    assert "did not work" in page.content.decode()
    assert signed_in(client) is None


def test_token_for_another_site_is_refused(client: Client, provider: Provider):
    UserFactory.create(email="ann@example.org")
    provider.audience = "another-site"
    assert "did not work" in go_through(client).content.decode()
    assert signed_in(client) is None


@pytest.mark.parametrize("fault", ["down", "broken"])
def test_provider_that_fails_is_said_on_a_page(
    client: Client, provider: Provider, settings: Any, fault: str
):
    provider.is_broken = fault == "broken"
    if fault == "down":
        apps = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
        apps[0]["settings"]["server_url"] = "http://127.0.0.1:9"
    page = client.post(reverse("single_sign_on"))
    assert page.status_code == 503
    assert "did not work" in page.content.decode()


def test_person_connects_and_disconnects(client: Client, provider: Provider):
    ann = UserFactory.create(email="ann@elsewhere.example")
    client.force_login(ann)
    go_through(client, "process=connect")
    connection = SocialAccount.objects.get()
    assert connection.user == ann
    page = client.get(reverse("socialaccount_connections")).content.decode()
    assert "Disconnect" in page
    values = {"account": str(connection.pk)}
    client.post(reverse("socialaccount_connections"), values)
    assert not SocialAccount.objects.exists()


def test_tokens_of_the_provider_are_not_kept(client: Client, provider: Provider):
    UserFactory.create(email="ann@example.org")
    go_through(client)
    assert not SocialToken.objects.exists()
    assert "a-token" not in str(dict(client.session))


def test_next_page_is_of_this_site(client: Client, provider: Provider):
    UserFactory.create(email="ann@example.org")
    assert go_through(client, "process=login&next=/runs/")["Location"] == "/runs/"
    client.post(reverse("account_logout"))
    there = go_through(client, "process=login&next=https://evil.example/")
    assert there["Location"] == "/home/"


def test_half_a_configuration_stops_the_process():
    with pytest.raises(ImproperlyConfigured, match="OIDC_CLIENT_ID"):
        openid_providers(
            issuer="https://id.example",
            client_id="",
            client_secret="",
            name="x",
            trusts_email=False,
        )


def invite() -> str:
    _, token = invitation_create(
        team=TeamFactory.create(),
        email="ann@example.org",
        role=Role.MEMBER,
        actor=ACTOR,
    )
    return token
