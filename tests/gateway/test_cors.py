"""Pages of other sites, where the settings allow them."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from conductor_site.environment import read_origins
from tests.gateway.conftest import CHAT, Client
from tests.gateway.fakes import completed

PAGE = "https://app.example"
ASKS = {
    "origin": PAGE,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,idempotency-key",
}


async def test_nothing_is_allowed_by_default(client: Client) -> None:
    client.run.plays(completed())
    answer = await client.ask("OPTIONS", CHAT, headers=ASKS, key=None)
    assert answer.status == 405
    assert "access-control-allow-origin" not in answer.headers


async def test_a_listed_page_may_ask(client: Client, settings: Settings) -> None:
    settings.CORS_ORIGINS = [PAGE]
    answer = await client.ask("OPTIONS", CHAT, headers=ASKS, key=None)
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert "idempotency-key" in answer.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_listed_page_reads_our_headers(
    client: Client, settings: Settings, is_streamed: bool
) -> None:
    settings.CORS_ORIGINS = [PAGE]
    client.run.plays(completed())
    answer = client.open_chat(stream=is_streamed)
    answer.scope["headers"].append((b"origin", PAGE.encode()))
    await client.done()
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == PAGE
    exposed = answer.headers["access-control-expose-headers"]
    assert {"x-request-id", "x-conductor-run-id"} <= set(exposed.split(", "))


async def test_errors_can_be_read_too(client: Client, settings: Settings) -> None:
    settings.CORS_ORIGINS = ["*"]
    answer = await client.ask("POST", CHAT, b"{", headers={"origin": PAGE})
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_another_page_may_not(client: Client, settings: Settings) -> None:
    settings.CORS_ORIGINS = [PAGE]
    headers = {**ASKS, "origin": "https://evil.example"}
    answer = await client.ask("OPTIONS", CHAT, headers=headers, key=None)
    assert answer.status == 400
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "text", ["app.example", "https://app.example/", "https://", "ftp://app.example"]
)
def test_a_bad_origin_stops_the_start(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORS_ORIGINS", text)
    with pytest.raises(ImproperlyConfigured, match="CORS_ORIGINS"):
        read_origins("CORS_ORIGINS")


def test_origins_are_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORS_ORIGINS", "https://a.example, http://localhost:3000")
    assert read_origins("CORS_ORIGINS") == [
        "https://a.example",
        "http://localhost:3000",
    ]
