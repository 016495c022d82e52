"""G17: secrets never leave. Planted ones are looked for wherever they could turn up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connection
from django.test import Client

from apps.accounts.models import Scope
from apps.audit.models import Entry
from apps.webhooks.delivery_thread import deliver
from tests.conftest import Site
from tests.factories import issue_key

PROVIDER_KEY = "sk-canary-4b1d0c77e2"
NEW_PROVIDER_KEY = "sk-canary-9e55a1f0b3"
PASSWORD = "canary-password-61c2aa"
HOOK_TOKEN = "canary-url-7be0"
HOOK_HEADER = "Bearer canary-header-55f1"
CANARIES = (PROVIDER_KEY, NEW_PROVIDER_KEY, PASSWORD)
FAULTY = ("fault-401", "fault-500", "fault-html", "fault-refuse", "fault-redirect")


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    """Log all there is, from every library too."""
    names = ("apps", "django", "aiohttp", "httpx", "asyncio", "allauth", "uvicorn")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    caplog.handler.setLevel(logging.DEBUG)
    yield caplog
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


class Witness:
    """Remembers every answer that any client got."""

    def __init__(self, site: Site, canaries: list[str]) -> None:
        self.site = site
        self.canaries = canaries
        self.answers: list[tuple[str, str]] = []
        self.browser = Client(raise_request_exception=False)
        self.browser.force_login(site.cast.alice)

    def page(self, method: str, address: str, **options: Any) -> Any:
        """Ask as alice's browser."""
        answer = getattr(self.browser, method)(address, **options)
        body = b"".join(answer) if answer.streaming else answer.content
        self._keep(address, f"{answer.headers}\n{body.decode('utf-8', 'replace')}")
        return answer

    def rest(self, method: str, address: str, **options: Any) -> Any:
        """Ask over the REST API, in alice's session."""
        options.setdefault("content_type", "application/json")
        return self.page(method, f"/api/v1/{address}", **options)

    def ask(self, key: str, **options: Any) -> httpx.Response:
        """Ask a question over the OpenAI-compatible API."""
        body = {"model": "conductor-ultra", "messages": [], **options}
        url = f"{self.site.api_url}/chat/completions"
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx.post(url, json=body, headers=headers, timeout=30)
        self._keep(url, f"{answer.headers}\n{answer.text}")
        return answer

    def _keep(self, where: str, text: str) -> None:
        self.answers.append((where, text))

    def told(self) -> list[tuple[str, str]]:
        """Return where a canary was shown."""
        return [
            (where, canary)
            for where, text in self.answers
            for canary in self.canaries
            if canary in text
        ]


def test_g17_planted_secrets_are_found_nowhere(
    site: Site, everything_logged: pytest.LogCaptureFixture
) -> None:
    key = issue_key(site.cast.team, scopes=tuple(Scope)).secret
    witness = Witness(site, [*CANARIES, key])
    _sign_in_both_ways(site, witness)
    worker_id = _hire_with_the_key(witness)
    _let_the_provider_fail(site, witness, worker_id)
    _ask_with_and_around(witness, key)
    _read_everything(witness, worker_id)
    assert witness.told() == []
    assert [c for c in witness.canaries if c in everything_logged.text] == []
    assert _in_database(witness.canaries) == []
    assert _in_entries(witness.canaries) == []


def test_g17_a_new_key_is_shown_once_and_kept_nowhere(site: Site) -> None:
    witness = Witness(site, [])
    made = witness.rest("post", "keys/", data={"name": "CI"})
    secret = made.json()["secret"]
    witness.answers.clear()
    witness.canaries.append(secret)
    for address in ("keys/", f"keys/{made.json()['id']}/"):
        witness.rest("get", address)
        witness.page("get", f"/{address}")
    assert witness.told() == []
    assert _in_database([secret]) == []
    assert witness.ask(secret, messages=[]).status_code == 400  # it does work


def test_g17_secrets_of_webhooks_are_shown_once_and_kept_nowhere(
    site: Site, everything_logged: pytest.LogCaptureFixture
) -> None:
    """The URL of a webhook holds a secret too: those who manage webhooks read it."""
    witness = Witness(site, [])
    hook = {
        "name": "Chat",
        "kind": "events",
        "url": f"http://127.0.0.1:9/hooks/{HOOK_TOKEN}",
        "event_types": ["policy.hit"],
        "header_name": "Authorization",
        "header_value": HOOK_HEADER,
    }
    made = witness.rest("post", "webhooks/", data=hook).json()
    address = f"webhooks/{made['id']}/"
    second = witness.rest("post", f"{address}secret/").json()["secret"]
    witness.answers.clear()
    witness.canaries += [made["secret"], second, HOOK_HEADER]
    for bad in (
        {"header_value": f"{HOOK_HEADER} ü"},
        {"header_name": "Host", "header_value": HOOK_HEADER},
        {"url": f"ftp://x/{HOOK_HEADER}"},
        {"url": f"http://u:{HOOK_HEADER}@example.org"},
    ):
        assert witness.rest("patch", address, data=bad).status_code == 400, bad
        witness.page("post", f"/{address}edit/", data={**hook, **bad})
    # A form that is refused shows the address again that it was sent.
    witness.answers = [a for a in witness.answers if 'name="url"' not in a[1]]
    witness.rest("post", f"{address}test/")
    asyncio.run(deliver(asyncio.Event(), until_idle=True))
    told = witness.rest("get", f"{address}deliveries/").json()["data"]
    assert told
    assert all(each["error"] for each in told)
    for place in ("webhooks/", address):
        witness.rest("get", place)
        witness.page("get", f"/{place}")
    witness.page("get", f"/{address}edit/")
    assert witness.told() == []
    secrets = [*witness.canaries, HOOK_TOKEN]
    assert [each for each in secrets if each in everything_logged.text] == []
    assert _in_database(witness.canaries) == []
    assert _in_entries(secrets) == []


def _sign_in_both_ways(site: Site, witness: Witness) -> None:
    site.cast.bob.set_password(PASSWORD)
    site.cast.bob.save()
    visitor = Witness(site, witness.canaries)
    visitor.browser.logout()
    for address, password in (
        ("bob@example.org", PASSWORD),
        ("nobody@example.org", PASSWORD),
        ("", PASSWORD),
        ("bob@example.org", f"{PASSWORD}x"),
    ):
        form = {"login": address, "password": password}
        visitor.page("post", "/accounts/login/", data=form)
    witness.answers += visitor.answers


def _hire_with_the_key(witness: Witness) -> str:
    url = witness.site.simulator_url
    credential = witness.rest(
        "post",
        "credentials/",
        data={"name": "canary", "base_url": url, "secret": PROVIDER_KEY},
    ).json()
    address = f"credentials/{credential['id']}/"
    witness.rest("patch", address, data={"secret": NEW_PROVIDER_KEY})
    worker = {"name": "canary", "base_url": url, "model": "echo"}
    worker["credential_id"] = credential["id"]
    made = witness.rest("post", "workers/", data=worker)
    assert made.status_code == 201, made.content
    # What is wrong with these must be said without saying what was sent.
    for bad in (
        {"name": "", "base_url": url, "secret": PROVIDER_KEY},
        {"name": "x", "base_url": f"http://u:{PROVIDER_KEY}@h/v1", "secret": "x"},
        {"name": "x", "base_url": url, "secret": [PROVIDER_KEY]},
        {"name": "x", "base_url": url, PROVIDER_KEY: 1, "secret": "x"},
    ):
        refused = witness.rest("post", "credentials/", data=bad)
        assert refused.status_code == 400
        if PROVIDER_KEY not in str(
            bad["base_url"]
        ):  # a form keeps the address it was given
            witness.page("post", "/credentials/new/", data=bad)
    # The one answer that repeats it repeats a field's name, which the asker made up.
    witness.answers = [a for a in witness.answers if "no such field" not in a[1]]
    worker_id: str = made.json()["id"]
    return worker_id


def _let_the_provider_fail(site: Site, witness: Witness, worker_id: str) -> None:
    for model in FAULTY:
        witness.rest("patch", f"workers/{worker_id}/", data={"model": model})
        witness.rest("post", f"workers/{worker_id}/test/")
        witness.page("post", f"/workers/{worker_id}/test/")
    data = {"base_url": site.simulator_url, "secret": PROVIDER_KEY}
    witness.rest("post", "workers/models/", data=data)
    data["base_url"] = "http://127.0.0.1:9/v1"
    witness.rest("post", "workers/models/", data=data)


def _ask_with_and_around(witness: Witness, key: str) -> None:
    question = [{"role": "user", "content": "What is 2 + 2?"}]
    assert witness.ask(key, messages=question).status_code == 200
    witness.ask(key, model="worker/canary", messages=question)
    witness.ask(key, model="nothing", messages=question)
    witness.ask(f"{key}x", messages=question)
    witness.ask(key[:-1] + "!", messages=question)
    for address in ("runs/", "keys/", "pools/"):
        headers = {"Authorization": f"Bearer {key}"}
        Client().get(f"/api/v1/{address}", headers=headers)


def _read_everything(witness: Witness, worker_id: str) -> None:
    for address in ("runs/", "workers/", "credentials/", "keys/", "pools/", "usage/"):
        witness.page("get", f"/{address}")
        witness.rest("get", address)
    witness.page("get", f"/workers/{worker_id}/")
    for run in witness.rest("get", "runs/").json()["data"]:
        witness.page("get", f"/runs/{run['id']}/")
        witness.page("get", f"/runs/{run['id']}/export.jsonl")
        witness.rest("get", f"runs/{run['id']}/entries/")


def _in_database(canaries: list[str]) -> list[str]:
    """Return the canaries in any column of any table, and in the files themselves."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                text = b" ".join(_bytes(value) for value in row)
                found += [f"{table}: {c}" for c in canaries if c.encode() in text]
    if connection.vendor == "sqlite":
        name = connection.settings_dict["NAME"]
        for path in Path(name).parent.glob(f"{Path(name).name}*"):
            content = path.read_bytes()
            found += [f"{path.name}: {c}" for c in canaries if c.encode() in content]
    return found


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes | memoryview):
        return bytes(value)
    return str(value).encode("utf-8", "surrogatepass")


def _in_entries(canaries: list[str]) -> list[str]:
    """Return the canaries in the ledger's entries, their bodies opened."""
    from apps.audit.selectors import entry_list

    teams = set(Entry.objects.across_teams().values_list("team_id", flat=True))
    return [
        entry.action
        for team_id in teams
        for entry in entry_list(team_id, limit=10_000)
        for canary in canaries
        if canary in f"{entry.data} {entry.bodies} {entry.context} {entry.actor}"
    ]
