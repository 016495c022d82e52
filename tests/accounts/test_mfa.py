"""Second factors: setting them up, being asked for them, what is kept of them."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.serializers import serialize
from django.test import Client
from django.urls import reverse

from apps.accounts.adapters import SecondFactorAdapter
from apps.accounts.models import User
from apps.core.errors import SecretUnreadable
from tests.accounts.second_factors import App, prove, set_up_app, sign_in
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _patient_clock(settings: Any) -> None:
    """Take the code of the step before too: a test may begin at the end of one."""
    settings.MFA_TOTP_TOLERANCE = 1


@pytest.fixture
def ann() -> User:
    return UserFactory.create(email="ann@example.org")


@pytest.fixture
def app(client: Client, ann: User) -> App:
    """ann's app; she is signed in."""
    sign_in(client, ann)
    return set_up_app(client)


def codes(client: Client) -> list[str]:
    page = client.get(reverse("mfa_view_recovery_codes"))
    return list(page.context["unused_codes"])


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_app_is_asked_for_at_the_next_sign_in(app: App, ann: User):
    visitor = Client()
    response = sign_in(visitor, ann)
    assert response["Location"] == reverse("mfa_authenticate")
    assert not is_signed_in(visitor)
    visitor.post(response["Location"], {"code": app.code()})
    assert is_signed_in(visitor)


def test_wrong_code_lets_nobody_in(app: App, ann: User):
    visitor = Client()
    sign_in(visitor, ann)
    page = visitor.post(reverse("mfa_authenticate"), {"code": "000"})
    assert "Incorrect code" in page.content.decode()
    assert not is_signed_in(visitor)


def test_code_works_once(app: App, ann: User):
    code = app.code()
    for is_let_in in (True, False):
        visitor = Client()
        sign_in(visitor, ann)
        visitor.post(reverse("mfa_authenticate"), {"code": code})
        assert is_signed_in(visitor) is is_let_in


def test_guessing_codes_is_stopped(app: App, ann: User):
    visitor = Client()
    sign_in(visitor, ann)
    for _ in range(5):
        visitor.post(reverse("mfa_authenticate"), {"code": "000"})
    page = visitor.post(reverse("mfa_authenticate"), {"code": app.code()})
    assert "Too many failed" in page.content.decode()
    assert not is_signed_in(visitor)


def test_recovery_code_works_once(client: Client, app: App, ann: User):
    code = codes(client)[0]
    for is_let_in in (True, False):
        visitor = Client()
        sign_in(visitor, ann)
        visitor.post(reverse("mfa_authenticate"), {"code": code})
        assert is_signed_in(visitor) is is_let_in


def test_new_recovery_codes_replace_the_old_ones(client: Client, app: App):
    before = codes(client)
    assert len(before) == 10
    client.post(reverse("mfa_generate_recovery_codes"))
    assert not set(before) & set(codes(client))


def test_recovery_codes_can_be_kept_as_a_file(client: Client, app: App):
    file = client.get(reverse("mfa_download_recovery_codes")).content.decode()
    assert file.split() == codes(client)


def test_password_is_asked_again_before_a_factor_is_set_up(client: Client, ann: User):
    sign_in(client, ann)
    response = client.get(reverse("mfa_activate_totp"))
    assert response["Location"].startswith(reverse("account_reauthenticate"))
    assert "Confirm it's you" in client.get(response["Location"]).content.decode()


def test_app_is_turned_off_and_the_codes_go_with_it(client: Client, app: App):
    assert "Turn it off" in client.get(reverse("mfa_deactivate_totp")).content.decode()
    client.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_owner_is_told_by_mail(client: Client, app: App):
    note = mail.outbox[-1]
    assert note.to == ["ann@example.org"]
    assert "If this was not you" in note.body
    assert app.secret not in note.body


def test_database_holds_no_clear_secret(client: Client, app: App):
    kept = serialize("json", Authenticator.objects.all())
    kept += str([each.get_decoded() for each in Session.objects.all()])
    seed = Authenticator.objects.get(type="recovery_codes").wrap()
    clear_seed = SecondFactorAdapter().decrypt(seed.instance.data["seed"])
    for secret in (app.secret, clear_seed, *codes(client)):
        assert secret not in kept


def test_sealed_secret_opens_with_its_key_alone(settings: Any):
    adapter = SecondFactorAdapter()
    sealed = adapter.encrypt("secret")
    assert adapter.decrypt(sealed) == "secret"
    assert adapter.encrypt("secret") != sealed
    settings.ENCRYPTION_KEYS = ["k2:" + "A" * 43 + "="]
    with pytest.raises(SecretUnreadable):
        adapter.decrypt(sealed)


PAGES = [
    "mfa_index",
    "mfa_activate_totp",
    "mfa_add_webauthn",
    "mfa_list_webauthn",
    "mfa_generate_recovery_codes",
    "usersessions_list",
    "account_email",
    "account",
    "account_change_password",
    "account_reauthenticate",
    "socialaccount_connections",
]


@pytest.mark.parametrize("name", PAGES)
def test_page_has_one_heading_and_no_inline_code(client: Client, ann: User, name: str):
    sign_in(client, ann)
    prove(client)
    response = client.get(reverse(name))
    page = response.content.decode()
    assert response.status_code == 200
    assert page.count("<h1") == 1
    assert " style=" not in page
    assert "<script>" not in page
    assert "onclick" not in page


@pytest.mark.parametrize(
    "name",
    ["mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_reauthenticate"],
)
def test_page_of_a_protected_account_too(client: Client, app: App, name: str):
    page = client.get(reverse(name)).content.decode()
    assert page.count("<h1") == 1
    assert "<script>" not in page


def test_sign_in_asks_for_a_second_factor_on_a_page_without_inline_code(
    app: App, ann: User
):
    visitor = Client()
    page = visitor.get(sign_in(visitor, ann)["Location"]).content.decode()
    assert page.count("<h1") == 1
    assert "<script>" not in page


@pytest.mark.parametrize("name", [*PAGES, "mfa_view_recovery_codes"])
def test_anonymous_visitor_is_sent_to_sign_in(client: Client, name: str):
    response = client.get(reverse(name))
    assert response.status_code == 302
    assert reverse("account_login") in response["Location"]


def test_passkey_of_another_person_is_not_found(client: Client, app: App):
    theirs = Authenticator.objects.create(
        user=UserFactory.create(), type="webauthn", data={"name": "Theirs"}
    )
    for page in ("mfa_edit_webauthn", "mfa_remove_webauthn"):
        assert client.post(reverse(page, args=[theirs.pk])).status_code == 404
    assert Authenticator.objects.filter(pk=theirs.pk).exists()


def test_sign_in_page_hands_out_options_for_passkeys(client: Client):
    response = client.get(
        reverse("mfa_login_webauthn"), headers={"accept": "application/json"}
    )
    options = response.json()["request_options"]["publicKey"]
    assert options["userVerification"] == "required"
    assert options["challenge"]


BROKEN = ["", "{}", "[]", "null", '{"id": 1}', "x", '{"id": "AA", "rawId": "AA"}']


@pytest.mark.parametrize("credential", BROKEN)
def test_bad_passkey_is_refused(client: Client, credential: str):
    client.get(reverse("mfa_login_webauthn"), headers={"accept": "application/json"})
    response = client.post(reverse("mfa_login_webauthn"), {"credential": credential})
    assert response.status_code == 302
    assert not is_signed_in(client)


@pytest.mark.parametrize("credential", BROKEN)
@pytest.mark.parametrize("page", ["mfa_add_webauthn", "mfa_reauthenticate_webauthn"])
def test_bad_passkey_is_refused_of_members_too(
    client: Client, ann: User, page: str, credential: str
):
    sign_in(client, ann)
    prove(client)
    client.get(reverse(page))
    response = client.post(reverse(page), {"name": "x", "credential": credential})
    assert response.status_code in {200, 302}
    assert not Authenticator.objects.exists()


def test_name_is_changed_on_the_account_page(client: Client, ann: User):
    sign_in(client, ann)
    client.post(reverse("account"), {"name": "Ann A.", "is_staff": "on"})
    ann.refresh_from_db()
    assert (ann.name, ann.is_staff) == ("Ann A.", False)


def test_new_address_counts_once_confirmed(client: Client, ann: User):
    sign_in(client, ann)
    client.post(
        reverse("account_email"), {"action_add": "", "email": "ann@new.example"}
    )
    ann.refresh_from_db()
    assert ann.email == "ann@example.org"
    words = mail.outbox[-1].body.split()
    link = next(word for word in words if "/confirm-email/" in word)
    client.post(link)
    ann.refresh_from_db()
    assert ann.email == "ann@new.example"


def test_password_of_the_tests_is_not_on_any_page(client: Client, app: App):
    assert PASSWORD not in client.get(reverse("account")).content.decode()
