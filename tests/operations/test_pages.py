"""Pages over ASGI: a thread for each request, which stays for the next one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from conductor_site.serving.pages import PageHandler
from tests.serving import serving


def told(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.body + threading.current_thread().name.encode())


def broken(request: HttpRequest) -> HttpResponse:
    raise LookupError("no such thing")


def endless(request: HttpRequest) -> HttpResponse:
    IS_AT_WORK.set()
    MAY_END.wait(10)
    return HttpResponse("done")


def streamed(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        yield b"one, "
        yield b"two"

    return StreamingHttpResponse(parts())


def teams(request: HttpRequest) -> HttpResponse:
    team = request.COOKIES["sessionid"].partition("-")[0]
    request.principal_team_id = team  # type: ignore[attr-defined]
    ASKED.append(team)
    if "wait" in request.GET:
        IS_AT_WORK.set()
        MAY_END.wait(10)
    return HttpResponse("done")


ASKED: list[str] = []
IS_AT_WORK, MAY_END = threading.Event(), threading.Event()
urlpatterns = [
    path("told", told),
    path("api/v1/told", told),
    path("broken", broken),
    path("teams", teams),
    path("streamed", streamed),
    path("endless", endless),
    path("api/v1/endless", endless),
]


@pytest.fixture
def pages(settings):
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    with serving(PageHandler(), lifespan="off") as url, httpx.Client() as client:
        yield lambda where, body=b"": client.post(f"{url}/{where}", content=body)


@pytest.mark.parametrize("where", ["told", "api/v1/told", "nowhere"])
def test_body_that_is_too_large_is_refused_before_it_is_read(pages, settings, where):
    settings.MAX_FORM_BYTES = 1_000_000
    declared = pages(where, b"x" * 1_000_001)
    undeclared = pages(where, iter([b"x" * 600_000] * 3))
    for answer in (declared, undeclared):
        assert answer.status_code == 413
        assert "longer than 1000000 bytes" in answer.text
    is_json = declared.headers["content-type"] == "application/json"
    assert is_json is where.startswith("api/")


def test_body_of_the_largest_size_is_taken(pages, settings):
    settings.MAX_FORM_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    answer = pages("told", b"x" * settings.MAX_FORM_BYTES)
    assert answer.status_code == 200
    assert len(answer.content) > settings.MAX_FORM_BYTES


def test_a_thread_stays_for_the_next_request(pages):
    first, second = pages("told").text, pages("told").text
    assert first.startswith("page")
    assert second == first


def test_reads_of_the_rest_api_have_threads_of_their_own(settings):
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    with serving(PageHandler(), lifespan="off") as url, httpx.Client() as client:
        assert client.get(f"{url}/api/v1/told").text.startswith("read")
        assert client.post(f"{url}/api/v1/told").text.startswith("page")
        assert client.get(f"{url}/told").text.startswith("page")


def test_a_view_gets_the_body(pages):
    assert pages("told", b"x" * 1_000_000).text.startswith("x" * 1_000_000)


def test_a_view_that_fails_is_answered_500(pages):
    assert pages("broken").status_code == 500


def test_an_answer_in_parts_comes_whole(pages):
    assert pages("streamed").text == "one, two"


def test_an_address_that_is_none_is_answered_404(pages):
    assert pages("nowhere").status_code == 404


@pytest.mark.parametrize(
    ("where", "kind"),
    [("/endless", "text/html"), ("/api/v1/endless", "application/json")],
)
async def test_who_waits_when_the_process_stops_is_told_so(settings, where, kind):
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    IS_AT_WORK.clear()
    MAY_END.clear()
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": where, "headers": []}
    task = asyncio.create_task(PageHandler()(scope, receive, send))
    await asyncio.to_thread(IS_AT_WORK.wait, 10)
    task.cancel("the drain is over")
    with pytest.raises(asyncio.CancelledError):
        await task
    MAY_END.set()
    head, body = sent
    headers = dict(head["headers"])
    assert head["status"] == 503
    assert headers[b"Content-Type"].startswith(kind.encode())
    assert headers[b"Retry-After"] == b"1"
    assert b"look before you ask again" in body["body"]


async def test_pages_are_made_by_turns_of_the_teams(settings, monkeypatch):
    """T2: a flood with several sessions of one team is one asker among others."""
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    monkeypatch.setattr("conductor_site.serving.pages.PAGE_PATIENCE_S", 3600)
    handler = PageHandler()

    async def send(message: Any) -> None:
        pass

    def ask(session: str, query: str = "") -> asyncio.Task[None]:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b""}

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/teams",
            "query_string": query.encode(),
            "headers": [(b"cookie", f"sessionid={session}".encode())],
        }
        return asyncio.create_task(handler(scope, receive, send))

    for session in ("flood-1", "flood-2", "other-1"):
        await ask(session)  # now the server knows whose they are
    IS_AT_WORK.clear()
    MAY_END.clear()
    first = ask("flood-1", "wait=1")
    await asyncio.to_thread(IS_AT_WORK.wait, 10)
    ASKED.clear()
    waiting = [ask(f"flood-{1 + n % 2}") for n in range(6)]
    await asyncio.sleep(0)
    waiting.append(ask("other-1"))
    await asyncio.sleep(0)
    MAY_END.set()
    await asyncio.gather(first, *waiting)
    assert ASKED[0] == "other"
