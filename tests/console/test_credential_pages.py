"""The pages about providers' keys: stored, replaced, deleted, and never shown."""

import pytest

from apps.pools.credentials import credential_open
from apps.pools.models import Credential
from apps.pools.services import credential_create
from tests.console.models import SECRET, signed_in, words
from tests.factories import ACTOR, BASE_URL, PoolFactory, WorkerFactory

URL = "/credentials/"


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


@pytest.fixture
def credential(cast):
    values = {"name": "Main key", "base_url": BASE_URL, "secret": SECRET}
    return credential_create(team=cast.team, values=values, actor=ACTOR)


def test_team_without_keys_is_told_where_they_come_from(alice):
    assert "No credentials stored" in alice.get(URL).content.decode()


def test_list_shows_host_and_users_but_never_the_key(cast, alice, credential):
    WorkerFactory.create(team=cast.team, name="steady", credential=credential)
    page = alice.get(URL).content.decode()
    for shown in ("Main key", "127.0.0.1:9", "steady", "••••"):
        assert shown in words(page)
    assert SECRET not in page


def test_key_is_stored_for_the_host_of_its_address(cast, alice):
    sent = {"name": "Mine", "base_url": BASE_URL, "secret": SECRET}
    page = alice.post(f"{URL}new/", sent, follow=True).content.decode()
    row = Credential.objects.for_team(cast.team.id).get()
    assert credential_open(row, base_url=BASE_URL) == SECRET
    assert "The credential Mine is stored for http://127.0.0.1:9." in page
    assert SECRET not in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("base_url", "not an address"),
        ("base_url", "http://10.0.0.1/v1"),
        ("secret", ""),
        ("secret", "with blank"),
    ],
)
def test_fault_is_shown_beside_its_field_and_nothing_is_saved(
    cast, alice, field, value
):
    sent = {"name": "Mine", "base_url": BASE_URL, "secret": SECRET, field: value}
    response = alice.post(f"{URL}new/", sent)
    assert response.status_code == 422
    assert f'id="id_{field}_error"' in response.content.decode()
    assert not Credential.objects.for_team(cast.team.id).exists()


@pytest.mark.parametrize(
    ("base_url", "setting"),
    [
        ("http://10.0.0.1/v1", "MODEL_NETWORKS"),
        ("http://127.0.0.1:6379/v1", "MODEL_PORTS"),
    ],
)
def test_refused_address_says_what_is_refused_and_who_allows_it(
    alice, base_url, setting
):
    sent = {"name": "Mine", "base_url": base_url, "secret": SECRET}
    page = words(alice.post(f"{URL}new/", sent).content.decode())
    assert "127.0.0.1" in page or "10.0.0.1 is not in an allowed network" in page
    assert f"operator of this site can allow it with the setting {setting}" in page


def test_name_that_is_taken_is_refused(alice, credential):
    sent = {"name": "Main key", "base_url": BASE_URL, "secret": "sk-other"}
    page = alice.post(f"{URL}new/", sent).content.decode()
    assert 'id="id_name_error"' in page


def test_secret_is_replaced(cast, alice, credential):
    sent = {"name": "Main key", "secret": "sk-newer"}
    page = alice.post(f"{URL}{credential.id}/", sent, follow=True).content.decode()
    credential.refresh_from_db()
    assert credential_open(credential, base_url=BASE_URL) == "sk-newer"
    assert "The credential Main key has a new API key." in page


def test_empty_secret_keeps_the_stored_one(cast, alice, credential):
    alice.post(f"{URL}{credential.id}/", {"name": "Renamed", "secret": ""})
    credential.refresh_from_db()
    assert credential.name == "Renamed"
    assert credential_open(credential, base_url=BASE_URL) == SECRET


def test_page_of_a_key_does_not_hold_it(alice, credential):
    assert SECRET not in alice.get(f"{URL}{credential.id}/").content.decode()


def test_key_nobody_uses_is_deleted_after_asking(cast, alice, credential):
    page = alice.get(f"{URL}{credential.id}/delete/").content.decode()
    assert "It cannot be brought back" in words(page)
    alice.post(f"{URL}{credential.id}/delete/")
    assert not Credential.objects.for_team(cast.team.id).exists()


def test_key_in_use_stays_and_the_page_says_why(cast, alice, credential):
    WorkerFactory.create(team=cast.team, name="steady", credential=credential)
    assert "/delete/" not in alice.get(URL).content.decode()
    page = alice.post(f"{URL}{credential.id}/delete/", follow=True).content.decode()
    assert "is used by &#x27;steady&#x27;" in page
    assert Credential.objects.for_team(cast.team.id).exists()


def test_no_page_of_the_team_holds_the_key(cast, alice, credential):
    pool = PoolFactory.create(team=cast.team)
    pool.fallback.credential = credential
    pool.fallback.save()
    alice.post(f"/workers/{pool.fallback_id}/test/")
    pages = [
        f"{URL}{credential.id}/",
        f"{URL}{credential.id}/delete/",
        "/workers/",
        "/workers/new/?provider=other",
        f"/workers/{pool.fallback_id}/",
        "/conductors/new/",
        f"/conductors/{pool.conductor_id}/",
        "/pools/",
        f"/pools/{pool.id}/",
        f"/pools/{pool.id}/history/",
    ]
    assert [url for url in pages if SECRET in alice.get(url).content.decode()] == []


@pytest.mark.parametrize("path", ["", "delete/"])
def test_key_of_another_team_is_not_there(cast, credential, path):
    mallory = signed_in(cast.mallory)
    sent = {"name": "stolen", "secret": "sk-theirs"}
    assert mallory.post(f"{URL}{credential.id}/{path}", sent).status_code == 404
    assert Credential.objects.for_team(cast.team.id).get().name == "Main key"


def test_others_see_that_there_is_a_key(cast, credential):
    page = signed_in(cast.vera).get(URL).content.decode()
    assert "Main key" in page
    assert "ask an owner or admin" in page
    assert "Replace" not in words(page).replace("Replace the", "")


@pytest.mark.parametrize("path", ["new/", "{id}/", "{id}/delete/"])
def test_others_change_nothing(cast, credential, path):
    url = f"{URL}{path.format(id=credential.id)}"
    sent = {"name": "x", "base_url": BASE_URL, "secret": "sk-x"}
    assert signed_in(cast.bob).post(url, sent).status_code == 403
    assert Credential.objects.for_team(cast.team.id).get().name == "Main key"


def test_anonymous_signs_in_first(client, db):
    assert client.get(URL).status_code == 302
