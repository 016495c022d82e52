"""Suites and evaluations over REST: imported, started, watched, read, downloaded."""

from __future__ import annotations

import csv

import httpx
import pytest

from apps.accounts.models import Scope
from tests.conftest import Site
from tests.evaluation.made_up import STATES, made_up_evaluation
from tests.evaluation.pool_changes import change_worker
from tests.evaluation.samples import documents, make_evaluation, suite
from tests.factories import issue_key
from tests.patience import eventually

SCOPES = (Scope.READ, Scope.POOLS_WRITE, Scope.RUN, Scope.DIRECT)


def client(site: Site, *scopes: Scope) -> httpx.Client:
    key = issue_key(site.cast.team, scopes=scopes)
    headers = {"authorization": f"Bearer {key.secret}"}
    return httpx.Client(base_url=f"{site.url}/api/v1", headers=headers, timeout=30)


@pytest.fixture
def program(site):
    with client(site, *SCOPES) as http:
        yield http


def settings(site: Site, **values: object) -> dict[str, object]:
    pool = site.cast.team.pools.get(is_default=True).name
    systems = [
        {"kind": "tier", "tier": "ultra"},
        {"kind": "worker", "worker": "sim-delta"},
    ]
    return {"pool": pool, "systems": systems, **values}


def test_the_whole_way(site, program):
    suite = program.post("/suites/", json={"name": "basics", "tasks": documents()})
    assert suite.status_code == 201, suite.text
    assert program.get("/suites/").json()["data"] == [suite.json()]
    assert (
        suite.json().items()
        <= program.get(f"/suites/{suite.json()['id']}/").json().items()
    )
    wanted = {"suite": "basics", "settings": settings(site)}
    estimate = program.post("/evaluations/estimate/", json=wanted).json()
    assert (estimate["tasks"], estimate["runs"]) == (10, 20)
    assert estimate["highest_micros"] > 0
    started = program.post("/evaluations/", json=wanted)
    assert started.status_code == 202, started.text
    place = f"/evaluations/{started.json()['id']}/"
    assert eventually(lambda: program.get(place).json()["state"] == "completed")
    found = program.get(place).json()
    assert (found["progress"]["graded"], found["progress"]["total"]) == (20, 20)
    report = program.get(f"{place}report/").json()
    assert [system["ended"] for system in report["systems"]] == [10, 10]
    total = sum(system["cost_micros"] for system in report["systems"])
    assert total == found["progress"]["cost_micros"] > 0
    table = program.get(f"{place}results/")
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(table.text.splitlines()))
    for row in (rows[0], rows[-1]):
        run = program.get(f"/runs/{row['run_id']}/").json()
        assert (run["source"], run["state"]) == ("evaluation", "completed")
    assert [e["id"] for e in program.get("/evaluations/").json()["data"]] == [
        found["id"]
    ]


def test_faults_of_tasks_are_named_by_their_place(program):
    tasks = [documents()[0], {"prompt": "x"}, documents()[0]]
    answer = program.post("/suites/", json={"name": "bad", "tasks": tasks})
    assert answer.status_code == 400
    assert {"tasks[1]", "tasks[2]"} <= set(answer.json()["error"]["fields"])
    assert program.get("/suites/").json()["data"] == []


@pytest.mark.parametrize(
    ("scopes", "status"),
    [
        ((Scope.READ,), 403),
        ((Scope.POOLS_WRITE,), 403),
        ((Scope.POOLS_WRITE, Scope.RUN), 403),
        ((Scope.POOLS_WRITE, Scope.RUN, Scope.DIRECT), 202),
    ],
)
def test_a_key_needs_every_scope(site, program, scopes, status):
    program.post("/suites/", json={"name": "basics", "tasks": documents()[:2]})
    wanted = {"suite": "basics", "settings": settings(site)}
    with client(site, *scopes) as other:
        answer = other.post("/evaluations/", json=wanted)
    assert answer.status_code == status, answer.text


def test_an_unknown_suite_is_not_found(site, program):
    wanted = {"suite": "none", "settings": settings(site)}
    assert program.post("/evaluations/", json=wanted).status_code == 404


def test_versions_of_a_pool_are_compared_or_refused(site, program):
    suite(site.cast.team, documents()[:2])
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    tier = {"kind": "tier", "tier": "ultra"}
    both = [tier, {**tier, "pool_version": 1}]
    wanted = {"suite": "basics", "settings": settings(site, systems=both)}
    started = program.post("/evaluations/", json=wanted)
    assert started.status_code == 202, started.text
    assert started.json()["settings"]["systems"][1]["pool_version"] == 1
    place = f"/evaluations/{started.json()['id']}/"
    assert eventually(lambda: program.get(place).json()["state"] == "completed")
    report = program.get(f"{place}report/").json()
    labels = [system["system"] for system in report["systems"]]
    assert labels == ["conductor (ultra)", "conductor (ultra, pool version 1)"]
    unknown = [tier, {**tier, "pool_version": 5}]
    wanted = {"suite": "basics", "settings": settings(site, systems=unknown)}
    refused = program.post("/evaluations/", json=wanted)
    assert refused.status_code == 400
    assert "has no version 5" in refused.json()["error"]["message"]


def test_an_evaluation_that_has_ended_stays_as_it_is(site, program):
    evaluation = make_evaluation(site.cast.team)
    answer = program.post(f"/evaluations/{evaluation.id}/cancel/")
    assert (answer.status_code, answer.json()["state"]) == (200, "completed")


def test_two_evaluations_side_by_side(site, program):
    version = suite(site.cast.team)
    earlier = made_up_evaluation(site.cast.team, version)
    better = (("right",) * 10, *STATES[1:])
    later = made_up_evaluation(site.cast.team, version, better)
    address = f"/evaluations/{earlier.id}/comparison/"
    found = program.get(address, params={"with": str(later.id), "limit": 3}).json()
    assert (found["earlier"], found["later"]) == (str(earlier.id), str(later.id))
    tier = found["systems"][0]
    assert (tier["system"], tier["tasks"]) == ("conductor (ultra)", 10)
    assert (tier["earlier"]["value"], tier["later"]["value"]) == (0.6, 1.0)
    assert tier["difference"]["value"] == pytest.approx(0.4)
    assert (tier["became_right"], tier["became_wrong"]) == (4, 0)
    assert [task["task"] for task in found["changed"]] == [
        "sum-4",
        "capital-0",
        "capital-2",
    ]
    assert program.get(address, params={"limit": 3}).json() == found
    rest = {"with": str(later.id), "limit": 3, "cursor": found["next_cursor"]}
    assert len(program.get(address, params=rest).json()["changed"]) == 1


def test_evaluations_of_different_suites_are_not_compared(site, program):
    one = made_up_evaluation(site.cast.team)
    other = make_evaluation(site.cast.team, "others")
    address = f"/evaluations/{one.id}/comparison/"
    assert program.get(address, params={"with": str(other.id)}).status_code == 400
    alone = program.get(address).json()
    assert (alone["earlier"], alone["later"]) == (None, str(one.id))
    assert (alone["systems"], alone["changed"]) == ([], [])


def test_tasks_of_a_suite_are_listed_by_version(site, program):
    first = suite(site.cast.team)
    suite(site.cast.team, documents()[:2])
    address = f"/suites/{first.suite_id}/"
    found = program.get(address).json()
    assert [(v["version"], v["tasks"]) for v in found["versions"]] == [(2, 2), (1, 10)]
    assert found["families"] == [{"family": "sums", "split": "held_out", "tasks": 2}]
    asked = {"version": 1, "family": "facts", "limit": 3}
    page = program.get(f"{address}tasks/", params=asked).json()
    assert [task["id"] for task in page["data"]] == [f"capital-{n}" for n in range(3)]
    assert page["data"][0]["verifier"]["answer"] == "Paris"
    newest = program.get(f"{address}tasks/").json()
    assert (len(newest["data"]), newest["next_cursor"]) == (2, None)
    assert program.get(f"{address}tasks/", params={"version": 3}).status_code == 404


def test_an_older_version_can_be_run(site, program):
    suite(site.cast.team)
    suite(site.cast.team, documents()[:2])
    wanted = {"suite": "basics", "suite_version": 1, "settings": settings(site)}
    estimate = program.post("/evaluations/estimate/", json=wanted).json()
    assert estimate["tasks"] == 10
    started = program.post("/evaluations/", json=wanted).json()
    assert started["suite_version"] == 1
    unknown = program.post("/evaluations/", json={**wanted, "suite_version": 3})
    assert unknown.status_code == 404
