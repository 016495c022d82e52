"""The pages of shadow tests: start, watch, promote, take back, stop."""

from __future__ import annotations

import re

import pytest

from apps.accounts.models import Scope
from apps.evaluation.models import ShadowTest
from apps.evaluation.shadow.selectors import FEWEST_PAIRS
from tests.conftest import Cast, Site
from tests.console.models import words
from tests.console.test_evaluations import signed_in
from tests.evaluation.samples import make_shadow_test, pairs_add
from tests.evaluation.test_shadow import ask, pool_of
from tests.patience import eventually
from tests.rest.conftest import keyed

NEW = "/evaluations/shadow/new/"


def wanted(site: Site, **fields: str) -> dict[str, str]:
    pool = pool_of(site).name
    usual = {
        "name": "Birch for mini",
        "original": f"{pool} mini",
        "candidate": f"{pool} worker:sim-birch",
        "begin": "now",
        "percent": "100",
        "days": "7",
        "max_runs": "1",
        "max_cost": "5",
        "grader": "",
    }
    return {**usual, **fields}


def test_the_whole_way_on_the_pages(site: Site):
    alice = signed_in(site.cast.alice)
    pool = pool_of(site).name
    form = alice.get(NEW).content.decode()
    assert f"{pool}: Self-reflection of sim-birch" in form
    answer = alice.post(NEW, wanted(site))
    assert answer.status_code == 302, answer.content.decode()
    address = answer.headers["location"]
    assert "No runs yet" in alice.get(address).content.decode()
    ask(site)
    assert eventually(lambda: "Completed" in alice.get(address).content.decode())
    page = alice.get(address).content.decode()
    for part in ("Same final answer", "Side by side", "Promote the candidate"):
        assert part in page
    assert f'href="{address}promote/"' not in page
    pairs_add(ShadowTest.objects.for_team(site.cast.team.id).get(), FEWEST_PAIRS - 1)
    assert f'href="{address}promote/"' in alice.get(address).content.decode()
    question = alice.get(f"{address}promote/").content.decode()
    assert "sim-birch becomes the fallback worker" in question
    promoted = alice.post(f"{address}promote/", follow=True).content.decode()
    assert f"{pool}/mini is sim-birch from the next run on." in promoted
    assert "Take back" in promoted
    back = alice.post(f"{address}take-back/", follow=True).content.decode()
    assert "is again what it was before" in back
    listed = alice.get("/evaluations/").content.decode()
    assert "Birch for mini" in listed
    assert f"{pool}/mini beside sim-birch" in listed


def test_a_candidate_is_promoted_from_30_pairs_on(site: Site):
    test = make_shadow_test(site.cast.team)  # with one pair
    pool = pool_of(site)
    test.settings |= {"pool": pool.name}
    test.save()
    address = f"/evaluations/shadow/{test.id}/"
    alice = signed_in(site.cast.alice)
    page = alice.get(address).content.decode()
    few = "A promotion takes 30 pairs with both answers: 29 are missing."
    assert few in page
    assert re.search(r"<button[^>]* disabled[^>]*>Promote the candidate</button>", page)
    assert few in alice.get(f"{address}promote/").content.decode()
    refused = alice.post(f"{address}promote/", follow=True).content.decode()
    assert "takes 30 pairs with both answers, and 29 of them are missing" in refused
    pairs_add(test, 28)
    pairs_add(test, 5, error="timeout")  # without both answers, so no pairs
    page = alice.get(address).content.decode()
    assert "A promotion takes 30 pairs with both answers: 1 is missing." in page
    key = keyed(site.cast.team, Scope.POOLS_WRITE)
    answer = key.put(f"shadow-tests/{test.id}/promotion/", {})
    assert answer.status_code == 409
    assert "1 of them are missing" in answer.json()["error"]["message"]
    pairs_add(test, 1)
    page = alice.get(address).content.decode()
    assert f'href="{address}promote/"' in page
    assert "missing" not in page
    answer = key.put(f"shadow-tests/{test.id}/promotion/", {})
    assert answer.json()["is_promoted"] is True


def test_recorded_runs_are_chosen_by_days(site: Site):
    alice = signed_in(site.cast.alice)
    ask(site)
    address = alice.post(NEW, wanted(site, begin="7")).headers["location"]
    assert eventually(lambda: "Completed" in alice.get(address).content.decode())
    test = ShadowTest.objects.for_team(site.cast.team.id).get()
    assert (test.until - test.since).days == 7


def test_runs_are_chosen_by_the_filters_of_the_form(site: Site):
    alice = signed_in(site.cast.alice)
    form = alice.get(NEW).content.decode()
    assert site.cast.key.row.name in form
    assert "(comparison only)" in form
    fields = {
        "begin": "7",
        "source": "api",
        "key": str(site.cast.key.row.id),
        "member": str(site.cast.bob.id),
        "words": "capital",
        "state": "completed",
        "cost_from": "0.01",
        "cost_to": "2",
        "feedback": "down",
        "data_class": "internal",
    }
    answer = alice.post(NEW, wanted(site, **fields))
    assert answer.status_code == 302, answer.content.decode()
    test = ShadowTest.objects.for_team(site.cast.team.id).get()
    assert test.settings["sources"] == ["api"]
    assert test.settings["filters"] == {
        "api_key_id": str(site.cast.key.row.id),
        "user_id": str(site.cast.bob.id),
        "query": "capital",
        "state": "completed",
        "min_cost_micros": 10_000,
        "max_cost_micros": 2_000_000,
        "feedback": "down",
        "data_classes": ["internal"],
    }


def test_the_cost_limit_may_be_left_empty(site: Site):
    alice = signed_in(site.cast.alice)
    address = alice.post(NEW, wanted(site, max_cost="")).headers["location"]
    test = ShadowTest.objects.for_team(site.cast.team.id).get()
    assert "max_cost_micros" not in test.settings
    assert "0 of at most 1 runs, $0" in words(alice.get(address).content.decode())


def test_stopping_from_the_page(site: Site):
    alice = signed_in(site.cast.alice)
    address = alice.post(NEW, wanted(site)).headers["location"]
    assert "stop-shadow" in alice.get(address).content.decode()
    alice.post(f"{address}stop/")
    assert eventually(lambda: "Stopped" in alice.get(address).content.decode())


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"candidate": "{pool} conductor:mini"}, "the tier itself"),
        ({"max_cost": "0"}, "Write an amount above zero"),
        ({"percent": "0"}, "greater than or equal to 1"),
        ({"name": " "}, "This field is required"),
        ({"feedback": "down"}, "only recorded runs have it"),
    ],
)
def test_faults_are_shown_on_the_form(site: Site, fields, complaint):
    pool = pool_of(site).name
    fields = {name: value.format(pool=pool) for name, value in fields.items()}
    answer = signed_in(site.cast.alice).post(NEW, wanted(site, **fields))
    assert answer.status_code == 400
    assert complaint in answer.content.decode()
    assert not ShadowTest.objects.for_team(site.cast.team.id).exists()


def test_members_read_and_change_nothing(cast: Cast):
    test = make_shadow_test(cast.team)
    bob = signed_in(cast.bob)
    page = bob.get(f"/evaluations/shadow/{test.id}/").content.decode()
    assert "1 run" in page
    assert "Promote" not in page
    assert bob.post(f"/evaluations/shadow/{test.id}/stop/").status_code == 403
    mallory = signed_in(cast.mallory)
    assert mallory.get(f"/evaluations/shadow/{test.id}/").status_code == 404
