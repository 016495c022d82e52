"""Open WebUI itself, by its own API and in a browser, with the site behind it.

`make test-open-webui` installs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import FLAGS, NAMES, PATIENCE_MS
from tests.conftest import Site
from tests.gateway.conformance.environments import ROOT, WITHIN_THIS_MACHINE
from tests.patience import eventually
from tests.processes.ports import ReservedPort

PLACE = ROOT / ".venv-open-webui"
READY_S = 240
"""Ten times what a start takes where nothing else runs."""
PERSON = {"email": "ada@example.org", "password": "a long password"}
QUESTION = {"role": "user", "content": "What is 17 * 23 + 4?"}
pytestmark = pytest.mark.skipif(
    not (PLACE / ".installed").exists(), reason="`make test-open-webui` installs it"
)


@pytest.fixture(scope="module")
def webui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a running Open WebUI, signed in as its first user."""
    folder = tmp_path_factory.mktemp("open-webui")
    reserved = ReservedPort()
    port = str(reserved.number)
    program = str(PLACE / "bin" / "open-webui")
    command = [program, "serve", "--host", "127.0.0.1", "--port", port]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **WITHIN_THIS_MACHINE, **_settings(folder)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            _wait(client, process)
            person = {**PERSON, "name": "Ada", "profile_image_url": ""}
            signed_up = client.post("/api/v1/auths/signup", json=person).json()
            client.headers["authorization"] = f"Bearer {signed_up['token']}"
            yield client
    finally:
        process.kill()
        process.wait()
        reserved.close()


def _settings(folder: Path) -> dict[str, str]:
    return {
        "DATA_DIR": str(folder),
        "ENABLE_OLLAMA_API": "False",
        "HOME": str(folder),
        "OFFLINE_MODE": "true",
        "RAG_EMBEDDING_ENGINE": "openai",
        "TASK_MODEL_EXTERNAL": "conductor-mini",
        "WEBUI_SECRET_KEY": "of-the-tests",
    }


def _wait(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    def is_ready() -> bool:
        assert process.poll() is None, "Open WebUI did not start"
        with suppress(httpx.TransportError):
            return client.get("/health").is_success
        return False

    assert eventually(is_ready, READY_S)


@pytest.fixture
def connected(webui: httpx.Client, site: Site) -> httpx.Client:
    """The same, with the site as its only connection."""
    connection = {
        "ENABLE_OPENAI_API": True,
        "OPENAI_API_BASE_URLS": [site.api_url],
        "OPENAI_API_KEYS": [site.key],
        "OPENAI_API_CONFIGS": {},
    }
    webui.post("/openai/config/update", json=connection).raise_for_status()
    _models(webui)
    return webui


def _models(webui: httpx.Client) -> list[str]:
    listed = webui.get("/api/models", params={"refresh": True}).json()["data"]
    return [model["id"] for model in listed]


def test_its_settings_tell_a_right_key_from_a_wrong_one(
    webui: httpx.Client, site: Site
) -> None:
    url = {"url": site.api_url}
    right = webui.post("/openai/verify", json={**url, "key": site.key})
    wrong = webui.post("/openai/verify", json={**url, "key": "nonsense"})
    assert right.status_code == 200
    assert wrong.json()["error"]["code"] == "invalid_api_key"


def test_it_offers_tiers_and_workers(connected: httpx.Client) -> None:
    models = _models(connected)
    assert {"conductor-mini", "conductor-ultra", "worker/sim-delta"} <= set(models)


def test_it_streams_thoughts_and_the_answer(connected: httpx.Client) -> None:
    body = {"model": "conductor-ultra", "stream": True, "messages": [QUESTION]}
    told = connected.post("/api/chat/completions", json=body).text
    assert told.rstrip().endswith("data: [DONE]")
    assert "Plan: " in _joined(told, "reasoning_content")
    assert "395" in _joined(told, "content")


def _joined(events: str, field: str) -> str:
    chunks: list[dict[str, Any]] = [
        orjson.loads(line.removeprefix("data: "))
        for line in events.splitlines()
        if line.startswith("data: {")
    ]
    deltas = [c["delta"] for chunk in chunks for c in chunk.get("choices", ())]
    return "".join(delta.get(field) or "" for delta in deltas)


def test_titles_are_asked_of_the_small_tier(connected: httpx.Client) -> None:
    body = {"model": "conductor-ultra", "messages": [QUESTION]}
    title = connected.post("/api/v1/tasks/title/completions", json=body).json()
    assert title["model"] == "conductor-mini"
    assert title["choices"][0]["message"]["content"]


def test_its_page_shows_the_tool_it_ran_and_the_answer(connected: httpx.Client) -> None:
    chromium = next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        page = browser.new_page(base_url=str(connected.base_url))
        page.set_default_timeout(PATIENCE_MS * 2)
        news = page.get_by_text("Okay, Let's Go!")
        page.add_locator_handler(news, lambda button: button.click())
        page.goto("/auth")
        page.fill("input[type=email]", PERSON["email"])
        page.fill("input[type=password]", PERSON["password"])
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/auth" not in url)
        page.goto("/?models=conductor-ultra")
        page.locator("#chat-input").click()
        page.keyboard.type("The time: [[call get_current_timestamp {}]]")
        page.keyboard.press("Enter")
        answer = page.get_by_text("That is what get_current_timestamp returned.")
        expect(answer).to_be_visible(timeout=PATIENCE_MS * 2)
        expect(page.get_by_text("Explored get_current_timestamp")).to_be_visible()
        browser.close()
