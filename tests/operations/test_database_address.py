"""What `DATABASE_URL` says becomes Django's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conductor_site.databases import POOL, SILENCE, database_of

NOWHERE: dict[str, Any] = {
    "NAME": "n",
    "USER": "",
    "PASSWORD": "",
    "HOST": "",
    "PORT": "",
}


def options_of(url: str) -> dict[str, Any]:
    options: dict[str, Any] = database_of(url, Path())["OPTIONS"]
    return options


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("postgres://u:p@h/n", {"USER": "u", "PASSWORD": "p", "HOST": "h"}),
        ("postgresql://h:5433/n", {"HOST": "h", "PORT": 5433}),
        ("postgres://u%40x:p%40%2F%3A+@h/n%20m",
         {"USER": "u@x", "PASSWORD": "p@/:+", "HOST": "h", "NAME": "n m"}),
        ("postgres://[::1]:5432/n", {"HOST": "::1", "PORT": 5432}),
        ("postgres://first,second/n", {"HOST": "first,second"}),
        ("postgres:////run/postgresql/n", {"HOST": "/run/postgresql"}),
        ("postgres:///n?host=/run/postgresql", {}),
    ],
)  # fmt: skip
def test_server_and_database_are_read(url, server):
    database = database_of(url, Path())
    assert {name: database[name] for name in NOWHERE} == {**NOWHERE, **server}


def test_what_follows_the_question_mark_goes_before_our_own_options():
    url = "postgres://h/n?connect_timeout=9&sslmode=require&application_name=a+b"
    given = {"connect_timeout": 9, "sslmode": "require", "application_name": "a b"}
    assert options_of(url) == {**SILENCE, **given, "pool": POOL}


def test_folder_of_a_socket_may_follow_the_question_mark():
    assert options_of("postgres:///n?host=/run/postgresql")["host"] == "/run/postgresql"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:///conductor.sqlite3", "conductor.sqlite3"),
        ("sqlite:////srv/a b+c/x.sqlite3", "/srv/a b+c/x.sqlite3"),
        ("sqlite:////srv/a%20b/x.sqlite3", "/srv/a b/x.sqlite3"),
        ("sqlite:///:memory:", ":memory:"),
        ("sqlite:///", ":memory:"),
    ],
)
def test_file_of_sqlite_is_read(url, name):
    database = database_of(url, Path())
    assert database["NAME"] == name
    assert database["ENGINE"] == "conductor_site.sqlite3"
