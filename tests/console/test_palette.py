"""The palette finds what a member may open, in their own team only."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.factories import WorkerFactory
from tests.recorded import RecordedQueries
from tests.rest.things import make_run


def found(browser: Client, query: str = "") -> dict[str, list[str]]:
    answer = browser.get("/search/", {"q": query})
    assert answer.status_code == 200
    groups = answer.json()["groups"]
    return {group["title"]: [hit["title"] for hit in group["hits"]] for group in groups}


def addresses(browser: Client, query: str) -> list[str]:
    groups = browser.get("/search/", {"q": query}).json()["groups"]
    return [hit["url"] for group in groups for hit in group["hits"]]


def test_anonymous_signs_in_first(client: Client, db: None):
    assert client.get("/search/").status_code == 302


def test_pages_are_those_of_the_role(alice: Client, bob: Client):
    assert "Ledger" in found(alice)["Pages"]
    assert "Ledger" not in found(bob)["Pages"]


def test_actions_are_those_of_the_role(alice: Client, bob: Client):
    assert "Add a worker" in found(alice, "add work")["Actions"]
    assert "Actions" not in found(bob, "add work")


def test_page_is_found_by_another_word(alice: Client):
    assert found(alice, "audit")["Pages"] == ["Ledger"]


def test_run_is_found_by_its_title_and_its_id(
    cast: Any, alice: Client, mallory: Client
):
    run_id = make_run(cast, title="The price of tea in Ghent")
    assert found(alice, "tea in ghent")["Runs"] == ["The price of tea in Ghent"]
    assert addresses(alice, str(run_id)) == [f"/runs/{run_id}/"]
    assert found(mallory, "tea in ghent") == {}
    assert found(mallory, str(run_id)) == {}


def test_models_and_people_are_found(cast: Any, alice: Client, mallory: Client):
    WorkerFactory.create(team=cast.team, name="atlas-9")
    assert found(alice, "atlas-9")["Workers"] == ["atlas-9"]
    assert found(mallory, "atlas-9") == {}
    assert found(alice, "bob@example")["Members"] == ["Bob"]
    assert "Members" not in found(mallory, "bob@example")


def test_viewers_are_led_to_the_list_of_members(vera: Client):
    assert addresses(vera, "bob@example") == ["/members/"]


def test_documentation_is_found_by_its_headings(vera: Client):
    assert "legal holds" in " ".join(found(vera, "legal holds")["Documentation"])


def test_what_is_found_opens(cast: Any, alice: Client):
    make_run(cast, title="A policy question")
    for address in addresses(alice, "pol"):
        assert alice.get(address, follow=True).status_code == 200, address


@pytest.mark.parametrize("query", ["\0", "%", "'; --", "x" * 5000, "☃"])
def test_odd_queries_are_answered(alice: Client, query: str):
    found(alice, query)


def test_number_of_queries_is_bounded(
    cast: Any, alice: Client, recorded_queries: RecordedQueries
):
    for _ in range(3):
        make_run(cast, title="same words")
    with recorded_queries():
        found(alice, "same words")


def test_a_page_that_is_called_as_its_place_is_named_once(alice: Client):
    hits = alice.get("/search/?q=home").json()["groups"][0]["hits"]
    assert {"title": "Home", "url": "/home/", "note": ""} in hits
