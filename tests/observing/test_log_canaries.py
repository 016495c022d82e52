"""G17 for logs: planted secrets and prompts are in no line, whatever goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.test import Client

from apps.engine.ports import Task
from apps.runs.models import Run
from tests.conftest import Site
from tests.observing.conftest import Lines
from tests.patience import PATIENCE_S, eventually
from tests.processes.ports import reserved_port
from tests.processes.python import PythonProcess, database_fill, python_start
from tests.services import redis

PROMPT = "zanzibar-4711 is what I ask about"
ANSWER = "zanzibar-4712"
PROVIDER_KEY = "sk-canary-4b1d0c77e2"
PASSWORD = "canary-password-61c2aa"
TOKEN = "canary-token-77ab"


def ask(url: str, key: str, model: str, **options: Any) -> httpx.Response:
    messages = [{"role": "user", "content": PROMPT}]
    return httpx.post(
        f"{url}/v1/chat/completions",
        headers={"Authorization": f"Bearer {key}"},
        json={"model": model, "messages": messages, **options},
        timeout=PATIENCE_S,
    )


def test_a_run_that_breaks_is_logged_with_its_ids_and_without_its_prompt(
    site: Site, lines: Lines, monkeypatch: pytest.MonkeyPatch
):
    async def conduct(
        task: Task, pool: Any, ports: Any, *_: Any, **options: Any
    ) -> Any:
        await ports.recorder.record(options["opening"])
        ports.progress.event(options["opening"])
        raise ValueError(f"cannot read {task.prompt!r} for {ANSWER}")

    monkeypatch.setattr("apps.runs.execution.live_run.conduct", conduct)
    headers = {"Authorization": f"Bearer {site.key}", "X-Request-ID": "req-4713"}
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": PROMPT}],
    }
    httpx.post(f"{site.api_url}/chat/completions", json=body, headers=headers)
    run = Run.objects.for_team(site.cast.team.id).get()
    (told,) = [one for one in lines() if "broke" in one["event"]]
    assert told["run_id"] == str(run.id)
    assert told["team_id"] == str(site.cast.team.id)
    assert told["request_id"] == "req-4713"
    assert "ValueError: (" in told["exception"]
    assert leaks(json.dumps(lines()), site.key) == []


def test_faults_of_models_and_callers_leave_nothing_in_the_log(
    site: Site, lines: Lines
):
    for model in ("fault-401", "fault-500", "fault-html", "fault-bad-json"):
        site.add_worker(model)
        ask(site.url, site.key, f"worker/{model}")
        ask(site.url, site.key, f"worker/{model}", stream=True)
    ask(site.url, site.key, "conductor-ultra", temperature=PROMPT)
    ask(site.url, site.key + PASSWORD, "conductor-ultra")
    ask(site.url, site.key, PROMPT)
    browser = Client(raise_request_exception=False)
    form = {"login": "bob@example.org", "password": PASSWORD}
    browser.post("/accounts/login/", data=form)
    browser.get(f"/invitations/{TOKEN}/")
    browser.get(f"/nowhere/{TOKEN}/?q={PASSWORD}")
    assert len(lines()) > 5
    assert leaks(json.dumps(lines()), site.key) == []


def leaks(text: str, *more: str) -> list[str]:
    canaries = (PROMPT, "zanzibar", PROVIDER_KEY, PASSWORD, TOKEN, *more)
    return [canary for canary in canaries if canary in text]


# --- real processes ------------------------------------------------------------------


class Production:
    """A production site of one process at a time, on a database of its own."""

    def __init__(self, folder: Path, simulator_url: str) -> None:
        keep = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG"}}
        self.environment = {
            **keep,
            "CONDUCTOR_VAR_DIR": str(folder),
            "SECRET_KEY": "a-secret-of-this-test-0123456789-abcdefghijklmnopqrstuv",
            "CONDUCTOR_ENCRYPTION_KEYS": "k1:" + "A" * 43 + "=",
            "ALLOWED_HOSTS": "127.0.0.1",
            "MODEL_NETWORKS": "127.0.0.0/8",
            "LOG_LEVEL": "DEBUG",
            "METRICS_TOKEN": TOKEN,
        }
        self._folder = folder
        known = database_fill(simulator_url, self.environment)
        self.key: str = known["key"]

    @contextmanager
    def running(self, *command: str, **environment: str) -> Iterator[Running]:
        """Run a process until the block is left."""
        log = self._folder / f"{command[0]}.log"
        with log.open("w") as stderr:
            production = {"CONDUCTOR_ENV": "production", **environment}
            process = python_start(
                *("-m", *command),
                environment={**self.environment, **production},
                stderr=stderr,
            )
            try:
                yield Running(process, log)
                process.terminate()
                assert process.wait() in (0, -signal.SIGTERM)
            finally:
                process.kill()
                process.wait()


@pytest.fixture
def production(tmp_path: Path, simulator_url: str) -> Production:
    return Production(tmp_path, simulator_url)


@pytest.mark.slow
def test_a_web_processs_log_is_json_without_secrets(production: Production):
    with (
        reserved_port() as port,
        production.running("conductor_site", "--port", str(port)) as site,
    ):
        url = f"http://127.0.0.1:{port}"
        site.until_served(f"{url}/healthz")
        ask(url, production.key, "conductor-ultra")
        ask(url, production.key, "worker/instant", stream=True)
        headers = {"X-Forwarded-Proto": "https", "Authorization": f"Bearer {TOKEN}"}
        told = httpx.get(f"{url}/metrics", headers=headers).text
        # Its ledger is written by a process of its own.
        assert re.search(r"^conductor_ledger_commit_batches_count [1-9]", told, re.M)
        httpx.get(f"{url}/invitations/{TOKEN}/", headers=headers)
    loggers = {one["logger"] for one in objects(site.log)}
    assert "django.request" in loggers
    secrets = [production.environment["SECRET_KEY"], production.key, "A" * 43]
    assert leaks(site.log.read_text(), *secrets) == []


@pytest.mark.slow
def test_a_workers_log_is_json_without_secrets_and_celerys_too(production: Production):
    with redis() as broker, reserved_port() as port:
        environment = {
            "REDIS_URL": broker.url,
            "BACKGROUND_RUNS": "here",
            "METRICS_PORT": str(port),
        }
        with production.running("conductor_site.worker", **environment) as worker:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            address = f"http://127.0.0.1:{port}/metrics"
            worker.until_served(address)
            assert httpx.get(address).status_code == 401
            assert "conductor_live_runs" in httpx.get(address, headers=headers).text
            worker.until(lambda: "celery.worker.consumer" in worker.log.read_text())
    told = objects(worker.log)
    assert {one["logger"].split(".")[0] for one in told} >= {"celery", "conductor_site"}
    assert leaks(worker.log.read_text()) == []


def objects(log: Path) -> list[dict[str, Any]]:
    """Return the objects that the lines are, but for what is said before settings."""
    lines = log.read_text().splitlines()
    return [json.loads(line) for line in lines if not line.startswith("warning: ")]


class Running:
    """A process, and the file of its log, which is whole once it has ended."""

    def __init__(self, process: PythonProcess, log: Path) -> None:
        self.process = process
        self.log = log

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that the process does: it rings no bell."""

        def has_happened() -> bool:
            status = self.process.poll()
            assert status is None, f"ended with {status}: {self.log.read_text()}"
            return holds()

        assert eventually(has_happened), self.log.read_text()

    def until_served(self, address: str) -> None:
        """Wait until somebody answers there."""
        self.until(lambda: _answers(address))


def _answers(address: str) -> bool:
    try:
        httpx.get(address)
    except httpx.TransportError:
        return False
    return True
