"""T2: the server learns from each kind of connection whose line the next one takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from conductor_site.asgi import django_application
from tests.conftest import Site
from tests.factories import issue_key
from tests.patience import eventually
from tests.runs.asking import session_of, watching

KNOWN_TEAMS = django_application.known_teams
NO_RUN = "01a20480-0000-7000-8000-000000000000"
Ask = Callable[[Site, dict[str, str]], None]


def read(path: str) -> Ask:
    def ask(site: Site, headers: dict[str, str]) -> None:
        httpx.get(site.url + path, headers=headers)

    return ask


def open_socket(site: Site, headers: dict[str, str]) -> None:
    with (
        watching(site.url, NO_RUN, session=headers["cookie"]) as socket,
        pytest.raises(ConnectionClosed),
    ):
        socket.recv()


def line_of(path: str, headers: dict[str, str]) -> Any:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"path": path, "headers": raw, "client": ("127.0.0.1", 1)}
    return KNOWN_TEAMS.requester_of(scope).key


def is_learned(site: Site, path: str, headers: dict[str, str]) -> bool:
    """Return whether the server learns the team, which it does after its answer."""
    return eventually(lambda: line_of(path, headers) == site.cast.team.id)


@pytest.mark.parametrize(
    ("path", "ask"),
    [
        ("/workers/", read("/workers/")),
        ("/api/v1/runs/", read("/api/v1/runs/")),
        (f"/ws/runs/{NO_RUN}/", open_socket),
    ],
)
def test_a_session_is_known_after_one(site, path, ask):
    headers = {"cookie": session_of(site.cast.alice)}
    assert line_of(path, headers) == "127.0.0.1"
    ask(site, headers)
    assert is_learned(site, path, headers)


@pytest.mark.parametrize("path", ["/api/v1/runs/", "/v1/models"])
def test_a_key_is_known_after_one(site, path):
    headers = {"authorization": f"Bearer {issue_key(site.cast.team).secret}"}
    assert line_of(path, headers) == "127.0.0.1"
    read(path)(site, headers)
    assert is_learned(site, path, headers)


@pytest.mark.parametrize("path", ["/api/v1/runs/", "/v1/models"])
def test_a_key_that_is_none_stays_unknown(site, path):
    headers = {"authorization": f"Bearer {site.key[:-1]}!"}
    read(path)(site, headers)
    assert line_of(path, headers) == "127.0.0.1"
