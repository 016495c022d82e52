"""Callers of the REST API: each member of the cast, programs with keys, strangers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from django.test import Client

from apps.accounts.models import Scope, Team, User
from apps.audit.models import Entry
from tests.factories import issue_key

ROOT = "/api/v1/"


@dataclass(frozen=True)
class Caller:
    """Somebody who calls the API in their own way."""

    client: Client
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("PUT", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.call("DELETE", path, **headers)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a value as JSON, bytes as they are; `if_match=` is a header."""
        raw = body if isinstance(body, bytes) else b""
        if body is not None and not isinstance(body, bytes):
            raw = orjson.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(
            method,
            path if path.startswith("/") else ROOT + path,
            raw,
            content_type="application/json",
            headers={**self.headers, **named},
        )


def member(user: User) -> Caller:
    """Return a signed-in person."""
    client = Client()
    client.force_login(user)
    return Caller(client)


def program(secret: str) -> Caller:
    """Return a program that sends a key."""
    return Caller(Client(), {"Authorization": f"Bearer {secret}"})


def keyed(team: Team, *scopes: Scope, **values: Any) -> Caller:
    """Return a program with a new key of these scopes."""
    return program(issue_key(team, scopes=scopes, **values).secret)


@pytest.fixture
def alice(cast):
    return member(cast.alice)


@pytest.fixture
def bob(cast):
    return member(cast.bob)


@pytest.fixture
def vera(cast):
    return member(cast.vera)


@pytest.fixture
def mallory(cast):
    return member(cast.mallory)


@pytest.fixture
def stranger():
    return Caller(Client())


def actions(team: Team) -> list[str]:
    """Return what the team's ledger says was done, oldest first."""
    entries = Entry.objects.for_team(team.id).order_by("seq")
    return [orjson.loads(bytes(entry.canonical))["action"] for entry in entries]


def fault(response: Any, status: int) -> dict[str, Any]:
    """Return the error of an answer that must have this status and the one shape."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    body = response.json()
    assert body.keys() == {"error"}
    error: dict[str, Any] = body["error"]
    assert error.keys() >= {"code", "message", "param"}
    return error
