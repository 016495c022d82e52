"""docs/rest.md names every address there is, its methods and the scopes it needs."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from apps.accounts.models import Scope
from tests.docs.reading import page, snippets
from tests.rest.conftest import Caller, keyed
from tests.rest.test_schema import described, document

__all__ = ["document"]
DOC = page("docs/rest.md")
ROW = re.compile(r"^\| (`/.*?) \| (.*?) \| (.*?) \|$", re.M)


def rows() -> list[tuple[set[str], set[str], set[str]]]:
    return [
        (
            set(re.findall(r"`(/[^`]*)`", addresses)),
            set(re.findall(r"[A-Z]+", methods)),
            set(re.findall(r"`([a-z]+:[a-z]+)`", scopes)),
        )
        for addresses, methods, scopes in ROW.findall(DOC)
    ]


def test_every_address_is_named_once(document):
    named = [address for addresses, _, _ in rows() for address in addresses]
    real = {path.removeprefix("/api/v1") for path, _, _ in described(document)}
    assert sorted(named) == sorted(real)


def test_every_method_and_scope_is_named(document):
    for addresses, methods, scopes in rows():
        real_methods, real_scopes = set(), set()
        for path, method, operation in described(document):
            if path.removeprefix("/api/v1") in addresses:
                real_methods.add(method.upper())
                told = operation["description"].partition("For members:")[2]
                real_scopes |= set(re.findall(r"`([a-z]+:[a-z]+)`", told))
        assert methods == real_methods, addresses
        assert scopes <= real_scopes | {"runs:read", "workers:direct"}, addresses


@pytest.mark.parametrize("number", [0, 1])
def test_an_example_is_answered(site, number):
    pool = site.cast.team.pools.get()
    words = shlex.split(snippets("docs/rest.md", "sh")[number])
    path = words[words.index("curl") + 1 :]
    url = next(word for word in path if word.startswith("http"))
    headers = dict(
        words[i + 1].split(": ", 1) for i, w in enumerate(words) if w == "-H"
    )
    headers.pop("Authorization")
    headers["If-Match"] = f'"{pool.version}"'
    body = json.loads(words[words.index("-d") + 1])
    caller = keyed(site.cast.team, Scope.RUN, Scope.POOLS_WRITE)
    method = "PATCH" if "PATCH" in words else "POST"
    address = url.partition("8000")[2].replace("0199…", str(pool.id))
    response = Caller(caller.client, {**caller.headers, **headers}).call(
        method, address, body
    )
    assert response.status_code == (201 if method == "POST" else 200), response.content
