"""`make demo`: what is there when it has started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.simulator.examples import examples
from deploy.demo import interrupt
from deploy.site_processes import STOPPING
from tests.patience import PATIENCE_S, awaited
from tests.processes.python import ROOT

pytestmark = pytest.mark.slow
PRINTED = "printed.txt"
"""What the demo has written to the terminal."""
DEMO_PATIENCE_S = 10 * PATIENCE_S
"""It migrates a database, and runs what it shows, beside other tests."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start the demo in a folder of its own, on free ports that it chooses."""
    folder = tmp_path_factory.mktemp("demo")
    ports = {"PORT": "0", "SIMULATOR_PORT": "0"}
    places = {
        "CONDUCTOR_VAR_DIR": str(folder),
        "DATABASE_URL": "",
        "REDIS_URL": "",
    }
    with (folder / PRINTED).open("wb") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "deploy.demo"],
            cwd=ROOT,
            env={**os.environ, **ports, **places},
            stdout=printed,
            stderr=printed,
        )
    yield folder
    # Both at once, as of Ctrl-C and of `make`, which passes it on.
    process.terminate()
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(json.loads((folder / "demo.json").read_text("utf-8"))["url"])


def test_the_second_signal_does_not_cut_short_the_stop_that_the_first_began() -> None:
    before = {number: signal.getsignal(number) for number in STOPPING}
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert {signal.getsignal(number) for number in STOPPING} == {signal.SIG_IGN}
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def until(look: Callable[[], Any]) -> Any:
    """Return what a look finds, as soon as it finds something."""
    return awaited(lambda: look() or None, DEMO_PATIENCE_S)


def sign_in(browser: httpx.Client, email: str, password: str) -> None:
    browser.get("/accounts/login/")
    form = {"login": email, "password": password}
    token = browser.cookies["csrftoken"]
    answer = browser.post(
        "/accounts/login/", data={**form, "csrfmiddlewaretoken": token}
    )
    assert answer.status_code == 302


def test_the_demo_has_runs_to_review(demo: Path) -> None:
    file = demo / "demo.json"
    access = json.loads(until(lambda: file.exists() and file.read_text("utf-8")))
    with httpx.Client(base_url=access["url"], timeout=PATIENCE_S) as browser:
        sign_in(browser, access["reviewer_email"], access["password"])

        def reasons() -> set[str]:
            rows = browser.get("/api/v1/reviews/").raise_for_status().json()["data"]
            return {reason for row in rows for reason in row["reasons"]}

        # The denied run, and the one that is rated as bad.
        until(lambda: {"error", "policy", "feedback"} <= reasons())


def test_the_demo_prints_nothing_after_its_greeting(demo: Path) -> None:
    # A checkpoint is signed within seconds; the log has its line, for whoever collects
    # logs, and so has the file of this month.
    until(lambda: list((demo / "checkpoints").glob("*.jsonl")))
    printed = until(lambda: (demo / PRINTED).read_text("utf-8"))
    greeting, _, rest = printed.partition("Press Ctrl-C to stop.\n")
    assert rest == ""
    assert "Conductor is at" in greeting
    assert str(demo / "demo.log") in greeting
    until(lambda: "conductor.checkpoints" in (demo / "demo.log").read_text("utf-8"))


def test_the_demo_has_conversations_to_browse(demo: Path) -> None:
    file = demo / "demo.json"
    access = json.loads(until(lambda: file.exists() and file.read_text("utf-8")))
    with httpx.Client(base_url=access["url"], timeout=PATIENCE_S) as browser:
        sign_in(browser, access["email"], access["password"])

        def answers(conversation: dict[str, Any]) -> list[str]:
            path = f"/api/v1/conversations/{conversation['id']}/turns/"
            turns = browser.get(path).raise_for_status().json()["data"]
            return [turn["answer"] for turn in turns if turn["answer"]]

        def found() -> dict[str, list[str]]:
            path = "/api/v1/conversations/"
            rows = browser.get(path).raise_for_status().json()["data"]
            return {row["name"]: answers(row) for row in rows}

        wanted = {each.title: len(each.turns) for each in examples()}
        until(lambda: {n: len(said) for n, said in found().items()} == wanted)
        every = [answer for said in found().values() for answer in said]
        assert all("Prepared for the demo" in answer for answer in every)
