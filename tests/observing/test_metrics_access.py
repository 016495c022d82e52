"""Who may read metrics, and where worker processes serve them."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured

from conductor_site.metrics import MetricsPort, metrics_application
from tests.conftest import Site
from tests.observing.metrics import samples_of
from tests.processes.ports import reserved_port

TOKEN = "a-token-of-tests"  # nosec


async def asked(client: str = "127.0.0.1", method: str = "GET", **headers: str) -> int:
    """Return the status of an answer to somebody at an address."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope: dict[str, Any] = {"type": "http", "path": "/metrics", "method": method}
    scope |= {"headers": raw, "client": (client, 1234)}
    await metrics_application(scope, None, send)
    status: int = sent[0]["status"]
    return status


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("client", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("10.0.0.7", {}, 401),
        ("", {}, 401),
        ("127.0.0.1", {"x_forwarded_for": "10.0.0.7"}, 401),
        ("127.0.0.1", {"forwarded": "for=10.0.0.7"}, 401),
    ],
)
async def test_without_a_token_this_machine_alone_reads(client, headers, status):
    assert await asked(client, **headers) == status


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("client", "headers", "status"),
    [
        ("10.0.0.7", {"authorization": f"Bearer {TOKEN}"}, 200),
        ("127.0.0.1", {}, 401),
        ("10.0.0.7", {"authorization": "Bearer other"}, 401),
        ("10.0.0.7", {"authorization": "Bearer "}, 401),
        ("10.0.0.7", {"authorization": TOKEN}, 401),
    ],
)
async def test_with_a_token_its_holder_alone_reads(settings, client, headers, status):
    settings.METRICS_TOKEN = TOKEN
    assert await asked(client, **headers) == status


async def test_nothing_is_changed_there():
    assert await asked(method="POST") == 405


def test_a_database_that_is_away_leaves_the_rest_readable(site: Site, monkeypatch):
    from django.db import OperationalError

    async def fail() -> None:
        raise OperationalError("away")

    monkeypatch.setattr("conductor_site.metrics.read_standing", fail)
    answer = httpx.get(f"{site.url}/metrics")
    told = samples_of(answer.text)
    assert told["conductor_database_up", ()] == 0
    assert ("conductor_runs_waiting", ()) not in told
    assert ("conductor_live_runs", ()) in told


@pytest.mark.django_db(transaction=True)
async def test_a_worker_serves_its_own_on_a_port(settings):
    with reserved_port() as number:
        settings.METRICS_PORT = number
        port = MetricsPort()
        await port.open()
        try:
            async with httpx.AsyncClient() as client:
                address = f"http://127.0.0.1:{number}"
                answer = await client.get(f"{address}/metrics")
                elsewhere = await client.get(f"{address}/v1/models")
        finally:
            await port.close()
    assert "conductor_live_runs 0.0" in answer.text
    assert elsewhere.status_code == 404


async def test_a_port_that_is_taken_is_named(settings):
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        settings.METRICS_PORT = taken.getsockname()[1]
        with pytest.raises(ImproperlyConfigured, match="METRICS_PORT="):
            await MetricsPort().open()


async def test_no_port_is_opened_unless_asked_for(settings):
    settings.METRICS_PORT = 0
    port = MetricsPort()
    await port.open()
    await port.close()
