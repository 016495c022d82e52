"""The pages of A/B tests: start, watch, promote, take back, stop."""

from __future__ import annotations

import re

import pytest

from apps.evaluation.models import ABTest
from apps.pools.services import pool_create
from tests.conftest import Cast, Site
from tests.console.test_evaluations import signed_in
from tests.evaluation.samples import make_ab_test
from tests.evaluation.test_ab import ask, key_in, newest
from tests.evaluation.test_shadow import pool_of
from tests.factories import ACTOR

NEW = "/evaluations/ab/new/"
FIGURES = ("failed", "cost", "tokens", "time")
"""That an arm without runs does not have."""


def wanted(site: Site, **fields: str) -> dict[str, str]:
    pool = pool_of(site).name
    usual = {
        "name": "Birch for half",
        "original": f"{pool} mini",
        "candidate": f"{pool} worker:sim-birch",
        "percent": "50",
        "highest_data_class": "",
        "days": "7",
        "max_runs": "100",
    }
    return {**usual, **fields}


def test_the_whole_way_on_the_pages(site: Site):
    alice = signed_in(site.cast.alice)
    pool = pool_of(site).name
    form = alice.get(NEW).content.decode()
    assert "(comparison only)" in form
    assert "can be promoted afterwards" in form
    answer = alice.post(NEW, wanted(site))
    assert answer.status_code == 302, answer.content.decode()
    address = answer.headers["location"]
    page = alice.get(address).content.decode()
    assert "No runs yet" in page
    assert page.count('<td class="num">–</td>') == 2 * len(FIGURES)
    assert "B: sim-birch answers 50 % of the API keys" in page
    test = ABTest.objects.for_team(site.cast.team.id).get()
    ask(site, key_in(site, test, "b"))
    run_page = alice.get(f"/runs/{newest(site).id}/").content.decode()
    assert f'<a href="{address}">A/B test</a>, arm B' in run_page
    page = alice.get(address).content.decode()
    assert page.count('<td class="num">–</td>') == len(FIGURES)
    for part in ("Side by side", f"A: {pool}/mini", "B: sim-birch", "Promote B"):
        assert part in page
    question = alice.get(f"{address}promote/").content.decode()
    assert "sim-birch becomes the fallback worker" in question
    promoted = alice.post(f"{address}promote/", follow=True).content.decode()
    assert f"{pool}/mini is sim-birch from the next run on." in promoted
    assert "Stopped" in promoted
    back = alice.post(f"{address}take-back/", follow=True).content.decode()
    assert "is again what it was before" in back
    listed = alice.get("/evaluations/").content.decode()
    assert f"A: {pool}/mini, B: sim-birch" in listed


def test_stopping_from_the_page(site: Site):
    alice = signed_in(site.cast.alice)
    address = alice.post(NEW, wanted(site)).headers["location"]
    assert "stop-ab" in alice.get(address).content.decode()
    stopped = alice.post(f"{address}stop/", follow=True).content.decode()
    assert "Stopped" in stopped
    assert "B: sim-birch answered 50 % of the API keys" in stopped
    assert "stop-ab" not in stopped


def test_what_cannot_be_promoted_says_so(site: Site):
    alice = signed_in(site.cast.alice)
    pool = pool_of(site).name
    fields = wanted(site, candidate=f"{pool} self-reflection:sim-birch")
    address = alice.post(NEW, fields).headers["location"]
    page = alice.get(address).content.decode()
    assert "cannot be promoted: self-reflection × 5 (sim-birch) is a fixed" in page
    assert re.search(r"<button[^>]* disabled[^>]*>Promote B</button>", page)
    assert f"{address}promote/" not in page
    asked = alice.get(f"{address}promote/").content.decode()
    assert "cannot be promoted: self-reflection × 5 (sim-birch) is a fixed" in asked
    assert "Promote</button>" not in asked


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"candidate": "{pool} conductor:mini"}, "the tier itself"),
        ({"percent": "100"}, "less than or equal to 99"),
        ({"max_runs": "0"}, "greater than or equal to 1"),
        ({"name": " "}, "This field is required"),
    ],
)
def test_faults_are_shown_on_the_form(site: Site, fields, complaint):
    pool = pool_of(site).name
    fields = {name: value.format(pool=pool) for name, value in fields.items()}
    answer = signed_in(site.cast.alice).post(NEW, wanted(site, **fields))
    assert answer.status_code == 400
    assert complaint in answer.content.decode()
    assert not ABTest.objects.for_team(site.cast.team.id).exists()


def test_a_second_test_of_a_tier_is_refused_on_the_form(site: Site):
    alice = signed_in(site.cast.alice)
    alice.post(NEW, wanted(site))
    answer = alice.post(NEW, wanted(site))
    assert answer.status_code == 400
    assert "in an A/B test already" in answer.content.decode()


def test_members_read_and_change_nothing(cast: Cast):
    test = make_ab_test(cast.team)
    bob = signed_in(cast.bob)
    page = bob.get(f"/evaluations/ab/{test.id}/").content.decode()
    assert "0 runs in A" in page
    assert "Promote" not in page
    assert bob.post(f"/evaluations/ab/{test.id}/stop/").status_code == 403
    mallory = signed_in(cast.mallory)
    assert mallory.get(f"/evaluations/ab/{test.id}/").status_code == 404


def workers_offered(page: str) -> dict[str, str]:
    """Return the labels of the boxes under *Only these workers*, by value."""
    boxes = r'name="workers" value="([^"]+)"[^>]*><span>([^<]+)</span>'
    return dict(re.findall(boxes, page))


def test_workers_of_one_pool_are_named_alone(site: Site):
    offered = workers_offered(signed_in(site.cast.alice).get(NEW).content.decode())
    assert set(offered.values()) == {"sim-delta", "sim-birch"}


def test_workers_of_several_pools_are_named_with_their_pool(site: Site):
    pool = pool_of(site)
    birch = pool.workers.get(name="sim-birch")
    values = {
        "name": "spare",
        "worker_ids": [str(birch.id)],
        "fallback_id": str(birch.id),
    }
    pool_create(team=site.cast.team, values=values, actor=ACTOR)
    alice = signed_in(site.cast.alice)
    offered = workers_offered(alice.get(NEW).content.decode())
    assert offered["spare sim-birch"] == "spare: sim-birch"
    assert offered[f"{pool.name} sim-birch"] == f"{pool.name}: sim-birch"
    assert len(offered) == 3
    fields = wanted(site, candidate=f"{pool.name} conductor:ultra")
    wrong = alice.post(NEW, {**fields, "workers": ["spare sim-birch"]})
    assert wrong.status_code == 400
    assert f"workers of {pool.name} alone" in wrong.content.decode()
    right = alice.post(NEW, {**fields, "workers": [f"{pool.name} sim-birch"]})
    assert right.status_code == 302, right.content.decode()
    test = ABTest.objects.for_team(site.cast.team.id).get()
    assert test.settings["candidate"]["workers"] == ["sim-birch"]
