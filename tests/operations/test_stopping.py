"""A web process that is asked to stop, and one version after another, lose nothing."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.patience import PATIENCE_S, awaited
from tests.processes.site import Home, WebProcess, question
from tests.runs.asking import planned
from tests.services import postgres, redis

pytestmark = pytest.mark.slow

SLOW = planned([0, 1, 2])
"""The second of three steps takes a second."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, models_url: str) -> Home:
    return Home(tmp_path_factory.mktemp("home"), models_url)


def lines_of(stream: httpx.Response) -> Iterator[str]:
    """Yield what a stream says, piece by piece."""
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield line.removeprefix("data: ")


def test_a_process_says_so_first_and_goes_on_meanwhile(home):
    with home.serving(WEB_NOTICE_S="4") as process, home.client(process.url) as client:
        assert "connection" not in client.get("/v1/models").headers
        process.ask_to_stop()
        parts = process.until_readiness(503)
        assert parts == {
            "process": "is stopping",
            "database": "ok",
            "ledger": "ok",
            "executor": "ok",
        }
        answer = client.get("/v1/models")
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        assert client.get("/healthz").json() == {"status": "ok"}
        answer = client.post("/v1/chat/completions", json=question("[[say yes]]"))
        assert answer.status_code == 200
        assert process.ended() == 0


def test_a_stream_under_way_ends_whole(home):
    with (
        home.serving(WEB_DRAIN_S="30") as process,
        home.client(process.url) as client,
        client.stream(
            "POST", "/v1/chat/completions", json=question(SLOW, stream=True)
        ) as stream,
    ):
        told = lines_of(stream)
        next(told)
        process.ask_to_stop()
        rest = list(told)
        assert rest[-1] == "[DONE]"
        text = "".join(
            choice["delta"].get("content") or ""
            for line in rest[:-1]
            for choice in json.loads(line)["choices"]
        )
        assert text == "ok"
        assert process.ended() == 0


def test_a_stream_that_takes_too_long_ends_with_the_reason(home):
    with (
        home.serving(WEB_DRAIN_S="0") as process,
        home.client(process.url) as client,
        client.stream(
            "POST", "/v1/chat/completions", json=question(SLOW, stream=True)
        ) as stream,
    ):
        run_id = stream.headers["x-conductor-run-id"]
        told = lines_of(stream)
        next(told)
        process.ask_to_stop()
        last = json.loads(list(told)[-1])
        assert last["error"]["code"] == "interrupted"
        assert process.ended() == 0
    with home.serving() as process, home.client(process.url) as client:
        assert run_state(client, run_id) == "completed"
    assert "1 chain holds" in home.python("manage.py", "audit_verify")


def test_a_second_signal_waits_for_nothing(home):
    order = {"model": "conductor-ultra", "prompt": planned([1] * 5)}
    with (
        home.serving(WEB_DRAIN_S="100") as process,
        home.client(process.url) as client,
    ):
        run_id = client.post("/api/v1/runs/", json=order).json()["id"]
        process.ask_to_stop()
        with pytest.raises(httpx.TransportError):
            while True:  # until it listens no more, so it waits for the run
                httpx.get(f"{process.url}/healthz")
        process.ask_to_stop()
        assert process.ended() == 0
    with home.serving() as process, home.client(process.url) as client:
        assert run_state(client, run_id) == "completed"
        entries = client.get(f"/api/v1/runs/{run_id}/entries/").json()["data"]
        assert "run.resumed" in [entry["action"] for entry in entries]


def run_state(client: httpx.Client, run_id: str) -> str:
    """Return the state of a run once it has ended."""

    def look() -> str | None:
        state = str(client.get(f"/api/v1/runs/{run_id}/").json()["state"])
        return None if state == "running" else state

    return awaited(look)


class Balancer:
    """Sends requests where /readyz says yes, as the proxy of compose.yaml does."""

    LOOK_S = 0.2

    def __init__(self, home: Home) -> None:
        self.processes: list[WebProcess] = []
        self.answers: Counter[str] = Counter()
        self._home = home
        self._ready: list[WebProcess] = []
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=work) for work in (self._look, *[self._ask] * 3)
        ]

    def __enter__(self) -> Balancer:
        self._ready = list(self.processes)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _look(self) -> None:
        while not self._is_over.wait(self.LOOK_S):
            self._ready = [p for p in self.processes if p.readiness()[0] == 200]

    def _ask(self) -> None:
        number = 0
        while not self._is_over.is_set():
            number += 1
            is_streamed = number % 2 == 0
            asked = question("[[say yes]]", stream=is_streamed)
            try:
                ready = self._ready
                with self._home.client(ready[number % len(ready)].url) as client:
                    answer = client.post("/v1/chat/completions", json=asked)
                is_whole = answer.text.rstrip().endswith("[DONE]") or not is_streamed
                self.answers[f"{answer.status_code} {is_whole}"] += 1
            except (httpx.HTTPError, ZeroDivisionError) as exc:
                self.answers[repr(exc)] += 1


def test_a_rolling_restart_loses_no_request(tmp_path, models_url):
    with postgres() as database, redis() as broker, ExitStack() as stack:
        services = {"DATABASE_URL": database.url, "REDIS_URL": broker.url}
        home = Home(tmp_path, models_url, **services, BACKGROUND_RUNS="here")
        balancer = Balancer(home)
        for _ in range(2):
            process = stack.enter_context(home.serving(WEB_NOTICE_S="3"))
            balancer.processes.append(process)
        with balancer:
            for former in list(balancer.processes):
                former.ask_to_stop()
                assert former.ended() == 0
                process = stack.enter_context(home.serving(WEB_NOTICE_S="3"))
                balancer.processes.append(process)
        assert set(balancer.answers) == {"200 True"}, balancer.answers
        assert balancer.answers.total() > 20
        assert "1 chain holds" in home.python("manage.py", "audit_verify")
