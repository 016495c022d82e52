"""T2: what one team asks of a provider that never answers costs other teams nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.test import Client
from websockets.sync.client import connect
from websockets.typing import Origin

from apps.accounts.models import Scope, Team, User
from apps.pools.selectors import access_worker, last_test
from conductor_site.serving.pages import THREADS
from tests.conftest import Site
from tests.factories import ConductorFactory, WorkerFactory, issue_key
from tests.operations.silent import Silent, silent_provider

FLOOD = THREADS + 8
ANSWER_S = 20
"""Far more than a request takes here, far less than the provider is silent."""


@pytest.fixture
def silent() -> Iterator[Silent]:
    with silent_provider() as provider:
        yield provider


@pytest.fixture
def flood() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(FLOOD) as threads:
        yield threads


def browser(user: User, site: Site) -> httpx.Client:
    """Return the browser of somebody who signed in."""
    client = Client()
    client.force_login(user)
    cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    return httpx.Client(base_url=site.url, cookies=cookies, timeout=ANSWER_S)


def key_of(team: Team, **values: int) -> str:
    """Issue a key that may do everything."""
    return issue_key(team, scopes=tuple(Scope), **values).secret


def program(site: Site, secret: str) -> httpx.Client:
    """Return a program with a key."""
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.Client(base_url=site.url, headers=headers, timeout=3 * ANSWER_S)


@pytest.mark.slow
def test_pending_tests_of_one_team_keep_no_request_of_another_waiting(
    site: Site, silent: Silent, flood: ThreadPoolExecutor, settings
):
    """T2: more tests are pending than there are threads; all surfaces answer."""
    settings.MODEL_CALLS_PER_TEAM = FLOOD
    worker = WorkerFactory.create(team=site.cast.team, base_url=silent.base_url)
    key, other = key_of(site.cast.team), key_of(site.cast.other_team)
    with (
        program(site, key) as flooder,
        program(site, other) as neighbour,
        browser(site.cast.mallory, site) as mallory,
    ):
        path = f"/api/v1/workers/{worker.id}/test/"
        pending: list[Future[httpx.Response]] = [
            flood.submit(flooder.post, path) for _ in range(FLOOD)
        ]
        silent.wait_for(FLOOD)
        assert mallory.get("/workers/").status_code == 200
        assert neighbour.get("/api/v1/workers/").status_code == 200
        assert neighbour.get("/v1/models").status_code == 200
        with connect(
            f"{site.url.replace('http', 'ws')}/ws/runs/{worker.id}/",
            additional_headers={"Cookie": f"sessionid={mallory.cookies['sessionid']}"},
            origin=Origin(site.url),
            open_timeout=ANSWER_S,
        ):
            pass  # opened: there is no such run, which the close says
        assert not any(each.done() for each in pending)
        assert flooder.post(path).status_code == 429
        silent.answer()
        for each in pending:
            assert each.result().json()["ok"] is False


def test_team_at_its_limit_is_told_when_to_come_back(
    site: Site, silent: Silent, flood: ThreadPoolExecutor, settings
):
    """T2: the limit is a team's, and its refusal is in words."""
    settings.MODEL_CALLS_PER_TEAM = 1
    worker = WorkerFactory.create(team=site.cast.team, base_url=silent.base_url)
    path = f"/api/v1/workers/{worker.id}/test/"
    with program(site, key_of(site.cast.team)) as client:
        pending = flood.submit(client.post, path)
        silent.wait_for(1)
        refused = client.post(path)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "5"
        error = refused.json()["error"]
        assert error["code"] == "too_many_model_calls"
        assert "your team has 1 tests" in error["message"]
        silent.answer()
        assert pending.result().status_code == 200
        assert client.post(path).status_code == 200


def test_request_that_waited_counts_once_against_the_rate(site: Site, silent: Silent):
    """T2: the view runs twice; what it counts does not."""
    silent.answer()
    key = key_of(site.cast.team, requests_per_minute=10)
    worker = WorkerFactory.create(team=site.cast.team, base_url=silent.base_url)
    with program(site, key) as client:
        left = [
            client.post(f"/api/v1/workers/{worker.id}/test/").headers[
                "x-ratelimit-remaining-requests"
            ]
            for _ in range(2)
        ]
    assert left == ["9", "8"]


def test_tested_worker_is_shown_with_its_result(site: Site, silent: Silent):
    """T2: the page comes once the test is done, from a person's session too."""
    silent.answer()
    worker = WorkerFactory.create(team=site.cast.team, base_url=silent.base_url)
    with browser(site.cast.alice, site) as alice:
        alice.get(f"/workers/{worker.id}/")
        headers = {
            "X-CSRFToken": alice.cookies["csrftoken"],
            "Referer": site.url,
            "X-Partial": "true",
        }
        shown = alice.post(f"/workers/{worker.id}/test/", headers=headers)
    assert shown.status_code == 200
    assert "503" in shown.text
    tested = last_test(access_worker(site.cast.team.id, worker.id))
    assert tested is not None
    assert tested.ok is False


@pytest.mark.parametrize("sent_as", ["data", "files"])
@pytest.mark.parametrize("kind", ["workers", "conductors"])
def test_form_without_script_tests_a_model(
    site: Site, silent: Silent, kind: str, sent_as: str
):
    """T2: the view runs twice and finds the form's fields both times."""
    silent.answer()
    factory: Any = {"workers": WorkerFactory, "conductors": ConductorFactory}[kind]
    model = factory.create(team=site.cast.team, base_url=silent.base_url)
    page = f"/{kind}/{model.id}/"
    with browser(site.cast.alice, site) as alice:
        alice.get(page)
        token = alice.cookies["csrftoken"]
        field = token if sent_as == "data" else (None, token)
        form: dict[str, Any] = {sent_as: {"csrfmiddlewaretoken": field}}
        told = alice.post(f"{page}test/", headers={"Referer": site.url}, **form)
        assert told.status_code == 302
        assert "503" in alice.get(page).text


def test_looks_at_one_server_are_one_question(
    site: Site, silent: Silent, flood: ThreadPoolExecutor, settings
):
    """T2: however many pages look, a team's limit is not used up by it."""
    settings.MODEL_CALLS_PER_TEAM = 1
    conductor = ConductorFactory.create(team=site.cast.team, base_url=silent.base_url)
    with browser(site.cast.vera, site) as vera:
        path = f"/conductors/{conductor.id}/server/"
        looks = [flood.submit(vera.get, path) for _ in range(5)]
        silent.wait_for(1)
        silent.answer()
        assert {look.result().status_code for look in looks} == {200}
