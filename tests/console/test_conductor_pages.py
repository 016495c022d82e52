"""The pages about conductors."""

from decimal import Decimal

import pytest

from apps.pools.models import Conductor
from tests.console.models import SECRET, conductor_input, signed_in, words
from tests.factories import ConductorFactory, PoolFactory

URL = "/conductors/"


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


@pytest.fixture
def conductor(cast):
    return ConductorFactory.create(team=cast.team, name="planner")


def test_team_without_a_conductor_learns_what_one_is_for(alice):
    page = alice.get(URL).content.decode()
    assert "No conductor yet" in page
    assert f'href="{URL}new/"' in page


def test_list_shows_mode_price_and_pools(cast, alice):
    pool = PoolFactory.create(team=cast.team, name="house")
    assert pool.conductor is not None
    text = words(alice.get(URL).content.decode())
    for shown in (pool.conductor.name, "Three lists", "unknown", "house", "Untested"):
        assert shown in text


def test_list_says_what_the_conductor_that_ships_is_for(cast, alice):
    ConductorFactory.create(team=cast.team, name="own", model="mine")
    assert "for demonstrations" not in alice.get(URL).content.decode()
    ConductorFactory.create(team=cast.team, name="small", model="tiny-conductor")
    page = alice.get(URL).content.decode()
    assert "A small trained conductor for demonstrations" in words(page)
    assert "#the-conductor-that-ships" in page


def test_conductor_is_saved_with_everything_about_it(cast, alice):
    sent = conductor_input(
        mode="json_schema",
        shows_descriptions="on",
        uses_prefill="on",
        temperature="0.3",
        protocol="gemini",
        context_tokens="32000",
        credential_id="new",
        secret=SECRET,
        **{"price.input_usd": "1", "price.output_usd": "2"},
    )
    page = alice.post(f"{URL}new/", sent, follow=True).content.decode()
    row = Conductor.objects.for_team(cast.team.id).get()
    assert (row.mode, row.temperature) == ("json_schema", Decimal("0.3"))
    assert (row.protocol, row.context_tokens) == ("gemini", 32_000)
    assert (row.shows_descriptions, row.uses_prefill) == (True, True)
    assert row.credential is not None
    assert "The conductor planner is saved." in page
    assert SECRET not in page


@pytest.mark.parametrize(
    ("field", "value"),
    [("temperature", "3"), ("temperature", "warm"), ("name", ""), ("mode", "poem")],
)
def test_fault_is_shown_beside_its_field_and_nothing_is_saved(
    cast, alice, field, value
):
    response = alice.post(f"{URL}new/", conductor_input(**{field: value}))
    assert response.status_code == 422
    assert f'id="id_{field}_error"' in response.content.decode()
    assert not Conductor.objects.for_team(cast.team.id).exists()


def test_conductor_is_changed_in_place(cast, alice, conductor):
    alice.post(f"{URL}{conductor.id}/", conductor_input(temperature="0.5"))
    conductor.refresh_from_db()
    assert conductor.temperature == Decimal("0.5")
    page = alice.get(f"{URL}{conductor.id}/").content.decode()
    assert 'value="0.5"' in page


def test_save_and_test_shows_what_came_of_it(cast, alice, simulator_url):
    sent = conductor_input(base_url=simulator_url, model="sim-conductor", test="1")
    assert "Plan read:" in alice.post(f"{URL}new/", sent, follow=True).content.decode()


def test_failing_test_is_told_in_words(alice, conductor):
    page = alice.post(f"{URL}{conductor.id}/test/", follow=True).content.decode()
    assert "Test failed." in page
    part = alice.post(f"{URL}{conductor.id}/test/", headers={"X-Partial": "true"})
    assert "<html" not in part.content.decode()


def test_models_of_the_provider_are_offered(alice, simulator_url):
    sent = conductor_input(base_url=simulator_url, list_models="1")
    page = alice.post(f"{URL}new/", sent).content.decode()
    assert '<option value="sim-conductor">' in page
    part = alice.post(f"{URL}new/", sent, headers={"X-Partial": "true"})
    assert "<form" not in part.content.decode()


def test_conductor_of_a_pool_stays_and_the_page_says_why(cast, alice):
    pool = PoolFactory.create(team=cast.team, name="house")
    url = f"{URL}{pool.conductor_id}/delete/"
    assert "Delete the conductor" in alice.get(url).content.decode()
    assert "house" in words(alice.post(url, follow=True).content.decode())
    assert Conductor.objects.for_team(cast.team.id).exists()


def test_conductor_nobody_uses_is_deleted(cast, alice, conductor):
    alice.post(f"{URL}{conductor.id}/delete/")
    assert not Conductor.objects.for_team(cast.team.id).exists()


@pytest.mark.parametrize("path", ["", "test/", "delete/"])
def test_conductor_of_another_team_is_not_there(cast, conductor, path):
    mallory = signed_in(cast.mallory)
    url = f"{URL}{conductor.id}/{path}"
    assert mallory.post(url, conductor_input()).status_code == 404
    assert Conductor.objects.for_team(cast.team.id).exists()


@pytest.mark.parametrize("path", ["new/", "{id}/", "{id}/test/", "{id}/delete/"])
def test_others_change_nothing(cast, conductor, path):
    url = f"{URL}{path.format(id=conductor.id)}"
    assert signed_in(cast.bob).post(url, conductor_input()).status_code == 403


def test_others_read_and_are_told_whom_to_ask(cast, conductor):
    vera = signed_in(cast.vera)
    for url in (URL, f"{URL}{conductor.id}/"):
        page = vera.get(url).content.decode()
        assert "ask an owner or admin" in page
        assert "Save and test" not in page


def test_anonymous_signs_in_first(client, conductor):
    assert client.get(f"{URL}{conductor.id}/").status_code == 302


def test_new_conductor_writes_json_unless_said(cast, alice):
    """Promise O3: what most models can do is the default."""
    form = alice.get(f"{URL}new/").context["form"]
    assert form["mode"].value() == "json_schema"


def test_conductor_of_before_keeps_its_format(alice, conductor):
    """Promise O3 changes nothing that is there."""
    assert conductor.mode == "lists"
    form = alice.get(f"{URL}{conductor.id}/").context["form"]
    assert form["mode"].value() == "lists"


def test_test_of_a_conductor_tells_the_plan_it_read(alice, simulator_url):
    """Promise O2, on the page."""
    sent = conductor_input(base_url=simulator_url, model="sim-conductor", test="1")
    page = alice.post(f"{URL}new/", sent, follow=True).content.decode()
    assert "Plan read: 3 steps." in words(page)
    assert "Can plan" in words(alice.get(URL).content.decode())


@pytest.mark.parametrize(
    ("mode", "model", "remedy"),
    [
        ("lists", "instant", "JSON schema"),
        ("json_schema", "sim-conductor-prose", "another model"),
    ],
)
def test_model_that_cannot_plan_fails_with_a_remedy(
    alice, simulator_url, mode, model, remedy
):
    """Promise O2, on the page: such an answer is no plan."""
    sent = conductor_input(base_url=simulator_url, model=model, mode=mode, test="1")
    page = words(alice.post(f"{URL}new/", sent, follow=True).content.decode())
    assert "Its answer is not a plan" in page
    assert remedy in page.split("Its answer is not a plan")[1][:600]
    assert "Test passed." not in page
