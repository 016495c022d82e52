"""docs/rest.md names every address there is, its methods and the scopes it needs."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

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


FIELD_ROW = re.compile(r"^\| (`[a-z_`., ]+`) \| ([a-z, ]+) \| .+ \| .+ \|$", re.M)


def fields_in_doc() -> dict[str, set[str]]:
    """Return the names of fields in the document, by what they are of."""
    found: dict[str, set[str]] = {}
    for names, kinds in FIELD_ROW.findall(DOC):
        for kind in kinds.split(", "):
            found.setdefault(kind, set()).update(re.findall(r"`([^`]+)`", names))
    return found


def writable(document, component: str, within: str = "") -> set[str]:
    """Return the names of what may be sent, and of what its objects have, dotted."""
    names = set()
    shape = document["components"]["schemas"][component]
    for name, field in shape.get("properties", {}).items():
        inner = re.search(r"schemas/(\w+)", json.dumps(field))
        below = writable(document, inner[1], f"{name}.") if inner and not within else ()
        names |= {f"{within}{name}", *below}
    return names


@pytest.mark.parametrize(
    ("kind", "component"),
    [
        ("worker", "WorkerRequest"),
        ("conductor", "ConductorRequest"),
        ("pool", "PoolRequest"),
        ("tier", "TierRequest"),
    ],
)
def test_every_writable_field_is_named(document, kind, component):
    objects = {"timeouts", "tiers"}
    assert writable(document, component) - objects <= fields_in_doc()[kind]


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


STAND_INS = {"gpt-5-mini": "sim-delta", "gpt-5": "sim-conductor", "sk-…": "sk-any"}


def test_the_set_up_leads_from_nothing_to_a_planned_answer(site):
    """Each request as it stands, for a team that has nothing yet."""
    section = DOC.partition("## From nothing to a planned answer")[2]
    commands = section.partition("```sh\n")[2].partition("```")[0].splitlines()
    caller = keyed(site.cast.other_team, Scope.RUN, Scope.POOLS_WRITE)
    answers: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    for command in commands:
        words = shlex.split(command)
        url = words[1].partition("/api/v1")[2]
        body = words[words.index("-d") + 1] if "-d" in words else "{}"
        for name, value in ids.items():
            url, body = (text.replace(f"<{name}>", value) for text in (url, body))
        body = body.replace("https://api.openai.com/v1", site.simulator_url)
        for real, stand_in in STAND_INS.items():
            body = body.replace(f'"{real}"', f'"{stand_in}"')
        response = caller.call("POST", url.removeprefix("/"), json.loads(body))
        assert response.status_code < 300, (command, response.content)
        answers.append(response.json())
        kind = url.strip("/").removesuffix("s")
        ids.update({kind: answers[-1]["id"]} if kind in MADE else {})
    assert [each["ok"] for each in answers if "ok" in each] == [True, True]
    assert answers[-1]["missing_plan"] is None
    assert answers[-2]["notices"] == []


MADE = {"credential", "worker", "conductor"}
