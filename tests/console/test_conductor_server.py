"""How a conductor's server is doing, on the conductor's page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from apps.audit.selectors import entry_list
from apps.pools.models import Conductor
from apps.pools.services import credential_create
from tests.console.models import SECRET, signed_in, words
from tests.factories import ACTOR, ConductorFactory
from tests.serving import serving

PARTIAL = {"X-Partial": "true"}


@dataclass
class Server:
    """A vLLM as far as its models and metrics go."""

    url: str = ""
    waiting: int = 3
    models: list[str] = field(default_factory=lambda: ["planner-7b"])
    status: int = 200
    keys: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(
            routes=[Route("/v1/models", self._models), Route("/metrics", self._metrics)]
        )

    async def _models(self, request: Request) -> Response:
        self.keys.append(request.headers.get("authorization", ""))
        listed = {"data": [{"id": name} for name in self.models]}
        return JSONResponse(listed, status_code=self.status)

    async def _metrics(self, request: Request) -> Response:
        return PlainTextResponse(
            "vllm:num_requests_running 4.0\n"
            f"vllm:num_requests_waiting {self.waiting}.0\n"
            "vllm:kv_cache_usage_perc 0.25\n"
            "vllm:prefix_cache_queries_total 1000.0\n"
            "vllm:prefix_cache_hits_total 750.0\n"
        )


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with serving(server.app(), ws="none") as url:
        server.url = f"{url}/v1"
        yield server


@pytest.fixture
def conductor(cast, server: Server) -> Conductor:
    key = {"name": "vllm", "base_url": server.url, "secret": SECRET}
    return ConductorFactory.create(
        team=cast.team,
        name="planner",
        model="planner-7b",
        base_url=server.url,
        credential=credential_create(team=cast.team, values=key, actor=ACTOR),
    )


def seen(cast, conductor: Conductor) -> str:
    """Return what the part of the page says, to somebody who only views."""
    url = f"/conductors/{conductor.id}/server/"
    response = signed_in(cast.vera).get(url, headers=PARTIAL)
    assert response.status_code == 200
    page: str = response.content.decode()
    assert "<html" not in page and SECRET not in page
    return words(page)


def test_queue_cache_and_prefix_hits_are_shown(cast, conductor, server):
    text = seen(cast, conductor)
    for shown in ("Answers", "4 requests", "3 requests", "25%", "75% of the prompts"):
        assert shown in text
    assert "fallback" not in text
    assert server.keys == [f"Bearer {SECRET}"]


def test_full_queue_is_named_with_what_it_means(cast, conductor, settings):
    settings.CONDUCTOR_MAX_QUEUE = 2
    text = seen(cast, conductor)
    assert "Queue full" in text
    assert "with more than 2, runs go to the fallback worker" in text


def test_model_that_is_not_served_is_named(cast, conductor, server):
    server.models = ["another"]
    text = seen(cast, conductor)
    assert "Model not served" in text and "“planner-7b”" in text


def test_refused_key_is_told_in_words(cast, conductor, server):
    server.status = 401
    text = seen(cast, conductor)
    assert "Fails" in text and "The provider refused the key." in text
    assert "3 requests" in text  # its metrics need no key


def test_server_that_is_gone_is_not_reachable(cast, conductor):
    conductor.base_url = "http://127.0.0.1:9/v1"
    conductor.credential = None
    conductor.save()
    assert "Not reachable" in seen(cast, conductor)


def test_key_of_another_host_is_not_sent(cast, conductor, server):
    conductor.base_url = server.url.replace("127.0.0.1", "localhost")
    conductor.save()
    assert "Fails" in seen(cast, conductor)
    assert server.keys == []


def test_provider_without_metrics_answers_all_the_same(cast, simulator_url):
    row = ConductorFactory.create(
        team=cast.team, base_url=simulator_url, model="sim-conductor"
    )
    text = seen(cast, row)
    assert "Answers" in text and "shows no metrics" in text


def test_server_is_asked_once_however_many_look(cast, conductor, server):
    for _ in range(5):
        seen(cast, conductor)
    assert len(server.keys) == 1


def test_look_leaves_no_trace_in_the_ledger(cast, conductor):
    before = len(entry_list(cast.team.id))
    seen(cast, conductor)
    assert len(entry_list(cast.team.id)) == before


def test_page_works_without_its_script(cast, conductor):
    vera = signed_in(cast.vera)
    url = f"/conductors/{conductor.id}/"
    assert f'href="{url}server/"' in vera.get(url).content.decode()
    page = vera.get(f"{url}server/").content.decode()
    assert "<html" in page and "3 requests" in words(page)


def test_other_teams_conductor_is_not_there(cast, conductor, server):
    mallory = signed_in(cast.mallory)
    assert mallory.get(f"/conductors/{conductor.id}/server/").status_code == 404
    assert server.keys == []
