"""/healthz and /readyz of a real process, while its services come and go."""

from __future__ import annotations

import httpx
import pytest

from conductor_site import health
from tests.patience import eventually
from tests.processes.site import Home, WebProcess
from tests.services import postgres, redis


def until_status(process: WebProcess, status: str) -> None:
    """Return once /readyz calls the process so."""
    url = f"{process.url}/readyz"
    assert eventually(lambda: httpx.get(url).json()["status"] == status)


@pytest.mark.slow
def test_readiness_follows_the_services(tmp_path, models_url):
    with postgres() as database, redis() as broker:
        url = database.url.replace("postgres@", "postgres:s3cret@")
        home = Home(tmp_path, models_url, DATABASE_URL=url, REDIS_URL=broker.url)
        with home.serving() as process:
            assert process.until_readiness(200) == {
                "process": "ok",
                "database": "ok",
                "ledger": "ok",
                "executor": "ok",
                "redis": "ok",
            }
            broker.kill()
            until_status(process, "degraded")
            status, parts = process.readiness()
            assert status == 200
            assert [name for name, line in parts.items() if line != "ok"] == ["redis"]
            broker.start()
            until_status(process, "ok")
            database.kill()
            parts = process.until_readiness(503)
            assert parts["database"] != "ok"
            assert "s3cret" not in str(parts)
            assert httpx.get(f"{process.url}/healthz").status_code == 200
            database.start()
            process.until_readiness(200)


@pytest.mark.slow
def test_probes_are_answered_by_address_and_without_tls(tmp_path, models_url):
    home = Home(tmp_path, models_url)
    production = {
        "CONDUCTOR_ENV": "production",
        "SECRET_KEY": "a-long-random-text-for-this-test-only-0123456789-abcdefghij",
        "CONDUCTOR_ENCRYPTION_KEYS": "k1:" + "A" * 43 + "=",
        "ALLOWED_HOSTS": "conductor.example",
    }
    with home.serving(**production) as process:
        assert httpx.get(f"{process.url}/healthz").json() == {"status": "ok"}
        assert process.readiness()[0] == 200
        assert httpx.get(f"{process.url}/").status_code == 400


@pytest.mark.django_db(transaction=True)
async def test_a_part_is_asked_once_however_many_ask(monkeypatch):
    asked = []
    monkeypatch.setattr(health, "look_at_database", lambda: asked.append(1))
    readiness = health.Readiness()
    lines = [await readiness.lines() for _ in range(20)]
    assert len(asked) == 1
    assert lines[0]["executor"] == "is not open"
