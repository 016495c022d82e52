"""List prices on the pages: shown beside a team's own, and adopted by a click."""

from __future__ import annotations

import re
from typing import Any

import pytest

from apps.audit.models import Entry
from apps.pools.models import Conductor, Worker
from apps.pools.services import worker_update
from tests.console.models import SECRET, conductor_input, signed_in, words, worker_input
from tests.factories import ACTOR, ConductorFactory, PriceFactory, WorkerFactory
from tests.pools.lists import ACME_URL, keep_list, model_of, priced

STAMP = "2/8/0.5"
"""The list price as a button carries it."""
ACME = {"base_url": ACME_URL, "model": "acme-1"}
SHOWN = "$2 in · $8 out · $0.50 cached input"


@pytest.fixture(autouse=True)
def _list(cast: Any, settings: Any) -> None:
    with_cache = priced(input_mtok=2, output_mtok=8, cache_read_mtok=0.5)
    keep_list(settings, with_cache, model_of("acme-2"))


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


@pytest.fixture
def worker(cast):
    return WorkerFactory.create(team=cast.team, name="steady", **ACME)


def page_of(client: Any, url: str) -> str:
    return words(client.get(url).content.decode())


def updates(cast: Any) -> int:
    return Entry.objects.for_team(cast.team.id).filter(action="worker.updated").count()


def saved_form(worker: Worker, **changes: Any) -> dict[str, Any]:
    """Return the form of a worker as its page shows it."""
    return worker_input(
        name=worker.name,
        base_url=worker.base_url,
        model=worker.model,
        max_output_tokens="4096",
        **changes,
    )


# --- shown ---------------------------------------------------------------------------


def test_list_price_of_a_worker_without_a_price_is_offered(alice, worker):
    listed = page_of(alice, "/workers/")
    assert "unknown list price $2 in · $8 out Use it" in listed
    shown = page_of(alice, f"/workers/{worker.id}/")
    assert "List price of Acme for acme-1, list of" in shown
    assert f"{SHOWN} ." in shown
    assert "differs" not in shown


def test_price_that_differs_has_a_quiet_mark(alice, worker):
    PriceFactory.create(worker=worker)
    listed = page_of(alice, "/workers/")
    assert "$1 in · $2 out differs from list price $2 in · $8 out Use it" in listed
    assert "Yours differs." in page_of(alice, f"/workers/{worker.id}/")


def test_price_of_cached_input_can_be_the_difference(alice, worker):
    PriceFactory.create(worker=worker, input_micros=2_000_000, output_micros=8_000_000)
    assert f"differs from list price {SHOWN} Use it" in page_of(alice, "/workers/")


@pytest.mark.parametrize("cached", [None, 500_000])
def test_price_that_is_the_list_price_has_none(cast, alice, settings, cached):
    PriceFactory.create(
        worker=WorkerFactory.create(
            team=cast.team, base_url=ACME_URL, model="acme-1" if cached else "acme-2"
        ),
        input_micros=2_000_000,
        output_micros=8_000_000,
        cached_input_micros=cached,
    )
    assert "list price" not in page_of(alice, "/workers/")
    assert "Use it" not in page_of(alice, "/workers/")


def test_same_price_is_said_to_be_the_same(alice, worker):
    values = {"input_usd": "2", "output_usd": "8", "cached_input_usd": "0.5"}
    worker_update(worker=worker, values={"price": values}, actor=ACTOR)
    shown = page_of(alice, f"/workers/{worker.id}/")
    assert "Yours is the same." in shown
    assert "Use it" not in shown


def test_price_that_changes_by_the_hour_is_no_difference(alice, worker, settings):
    night = {"start_time": "00:00:00Z", "end_time": "08:00:00Z"}
    prices = [
        {"prices": {"input_mtok": 2, "output_mtok": 8}},
        {"constraint": night, "prices": {"input_mtok": 1, "output_mtok": 4}},
    ]
    keep_list(settings, model_of(prices=prices))
    PriceFactory.create(worker=worker, input_micros=9_000_000)
    assert "differs" not in page_of(alice, "/workers/")
    assert "time of day" in page_of(alice, f"/workers/{worker.id}/")


def test_worker_on_a_server_of_its_own_has_no_list_price(cast, alice):
    own = WorkerFactory.create(team=cast.team, model="acme-1")
    PriceFactory.create(worker=own)
    for url in ("/workers/", f"/workers/{own.id}/"):
        assert "ist price" not in page_of(alice, url)


def test_viewer_sees_it_and_cannot_take_it(cast, worker):
    PriceFactory.create(worker=worker)
    vera = signed_in(cast.vera)
    for url in ("/workers/", f"/workers/{worker.id}/"):
        page = vera.get(url).content.decode()
        assert "$2 in · $8 out" in words(page)
        assert "Use it" not in page


def test_conductor_has_one_too(cast, alice):
    conductor = ConductorFactory.create(team=cast.team, **ACME)
    shown = page_of(alice, f"/conductors/{conductor.id}/")
    assert "List price of Acme for acme-1, list of" in shown
    assert SHOWN in shown


def test_name_of_a_model_is_text_on_the_page(cast, alice, settings):
    evil = "<script>alert(1)</script>"
    keep_list(settings, model_of(evil))
    worker = WorkerFactory.create(team=cast.team, base_url=ACME_URL, model=evil)
    for url in ("/workers/", f"/workers/{worker.id}/"):
        assert evil not in alice.get(url).content.decode()


# --- adopted from the list -----------------------------------------------------------


def test_a_click_adopts_it_and_is_recorded(cast, alice, worker):
    PriceFactory.create(worker=worker)
    url = f"/workers/{worker.id}/list-price/"
    page = alice.post(url, {"use_list_price": STAMP}, follow=True).content.decode()
    assert "The worker steady has the list price from today on." in page
    prices = worker.prices.order_by("valid_from")
    assert [price.input_micros for price in prices] == [1_000_000, 2_000_000]
    assert prices.last().cached_input_micros == 500_000
    assert updates(cast) == 1


@pytest.mark.parametrize("stamp", ["", "2/8/", "1/8/0.5", "x"])
def test_another_price_than_was_shown_is_not_adopted(cast, alice, worker, stamp):
    url = f"/workers/{worker.id}/list-price/"
    page = alice.post(url, {"use_list_price": stamp}, follow=True).content.decode()
    assert "The list price is another one now" in page
    assert not worker.prices.exists()
    assert updates(cast) == 0


def test_unknown_price_cannot_be_adopted(cast, alice):
    own = WorkerFactory.create(team=cast.team, model="acme-1")
    alice.post(f"/workers/{own.id}/list-price/", {"use_list_price": "//"})
    assert not own.prices.exists()


@pytest.mark.parametrize(
    ("name", "status"), [("bob", 403), ("vera", 403), ("mallory", 404)]
)
def test_others_adopt_nothing(cast, worker, name, status):
    client = signed_in(getattr(cast, name))
    url = f"/workers/{worker.id}/list-price/"
    assert client.post(url, {"use_list_price": STAMP}).status_code == status
    form = saved_form(worker, use_list_price=STAMP)
    assert client.post(f"/workers/{worker.id}/", form).status_code == status
    assert not worker.prices.exists()


def test_looking_adopts_nothing(cast, alice, worker):
    assert alice.get(f"/workers/{worker.id}/list-price/").status_code == 405
    alice.get(f"/workers/{worker.id}/")
    assert not worker.prices.exists()


# --- the form ------------------------------------------------------------------------


def test_button_of_an_untouched_form_adopts_it_at_once(cast, alice, worker):
    form = saved_form(worker, use_list_price=STAMP)
    response = alice.post(f"/workers/{worker.id}/", form)
    assert response.url == f"/workers/{worker.id}/"
    assert worker.prices.get().output_micros == 8_000_000
    assert updates(cast) == 1


def test_button_of_a_changed_form_fills_it_in_and_saves_nothing(cast, alice, worker):
    form = saved_form(worker, use_list_price=STAMP, description="Law")
    page = alice.post(f"/workers/{worker.id}/", form).content.decode()
    assert "save to keep it" in page
    assert ">\nLaw</textarea>" in page
    assert filled(page) == ["2", "8", "0.5"]
    assert not worker.prices.exists()


def test_button_with_an_old_price_shows_the_new_one_first(cast, alice, worker):
    form = saved_form(worker, use_list_price="1/1/")
    page = alice.post(f"/workers/{worker.id}/", form).content.decode()
    assert filled(page) == ["2", "8", "0.5"]
    assert not worker.prices.exists()


def test_form_of_a_new_worker_is_filled_in(cast, alice):
    form = worker_input(use_list_price=STAMP, more_tags="blue", **ACME)
    page = alice.post("/workers/new/", form).content.decode()
    assert filled(page) == ["2", "8", "0.5"]
    assert 'value="blue"' in page
    assert not Worker.objects.for_team(cast.team.id).exists()


def test_key_is_not_kept_while_a_price_is_filled_in(alice):
    form = worker_input(use_list_price=STAMP, **ACME)
    form.update(credential_id="new", secret=SECRET)
    page = alice.post("/workers/new/", form).content.decode()
    assert SECRET not in page
    assert "Paste the key again" in page


def test_listing_models_shows_the_price_of_the_one_that_was_typed(alice):
    form = worker_input(list_models="1", **ACME)
    assert SHOWN in words(alice.post("/workers/new/", form).content.decode())


def test_form_with_a_fault_still_shows_it(alice):
    form = worker_input(**{**ACME, "name": "no spaces"})
    assert SHOWN in words(alice.post("/workers/new/", form).content.decode())


def test_script_gets_the_price_of_what_was_typed_alone(alice, worker):
    headers = {"X-Partial": "true"}
    for url in ("/workers/new/", f"/workers/{worker.id}/"):
        form = worker_input(use_list_price="", base_url=ACME_URL, model="acme-2")
        page = alice.post(url, form, headers=headers).content.decode()
        assert "$2 in · $8 out" in page
        assert 'value="2/8/"' in page
        assert "<html" not in page
        unknown = {**form, "model": "acme-3"}
        assert "List" not in alice.post(url, unknown, headers=headers).content.decode()
    assert not worker.prices.exists()


def test_conductor_adopts_it_by_the_same_button(cast, alice):
    conductor = ConductorFactory.create(team=cast.team, name="planner", **ACME)
    url = f"/conductors/{conductor.id}/"
    form = conductor_input(**ACME, max_output_tokens="2048", use_list_price=STAMP)
    assert alice.post(url, {**form, "temperature": "1"}).status_code == 200
    assert not conductor.prices.exists()
    assert alice.post(url, form).url == url
    assert conductor.prices.get().input_micros == 2_000_000
    entries = Entry.objects.for_team(cast.team.id).filter(action="conductor.updated")
    assert entries.count() == 1


def test_new_conductor_is_filled_in(cast, alice):
    form = conductor_input(**ACME, use_list_price=STAMP)
    page = alice.post("/conductors/new/", form).content.decode()
    assert filled(page) == ["2", "8", "0.5"]
    headers = {"X-Partial": "true"}
    part = alice.post("/conductors/new/", form, headers=headers).content.decode()
    assert "<html" not in part
    assert not Conductor.objects.for_team(cast.team.id).exists()


def filled(page: str) -> list[str]:
    """Return the amounts that stand in the fields of the price."""
    inputs = re.findall(r'<input[^>]*name="price\.[^>]*>', page)
    found = [re.search(r'value="([^"]*)"', each) for each in inputs]
    return [each.group(1) if each else "" for each in found]
