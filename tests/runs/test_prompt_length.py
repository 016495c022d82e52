"""A prompt that is too long is refused by name, before any model is called (D9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from django.test import Client

from apps.pools.models import Worker, WorkerKind
from apps.runs.models import Run
from tests.conftest import Site
from tests.factories import WorkerFactory
from tests.patience import PATIENCE_S

CODE = "context_length_exceeded"
LONG = "word " * 400
"""2,000 bytes: at least 333 tokens."""
SMALL, ROOMY = 300, 8_000
"""Tokens of context."""
MODELS = ("conductor-mini", "conductor-ultra", "worker/sim-delta")


def chat(text: str, model: str) -> tuple[str, dict[str, Any]]:
    messages = [{"role": "user", "content": text}]
    return "chat/completions", {"model": model, "messages": messages}


def respond(text: str, model: str) -> tuple[str, dict[str, Any]]:
    return "responses", {"model": model, "input": text}


def complete(text: str, model: str) -> tuple[str, dict[str, Any]]:
    return "completions", {"model": model, "prompt": text}


def embed(text: str, model: str) -> tuple[str, dict[str, Any]]:
    return "embeddings", {"model": "worker/vectors", "input": ["short", text]}


ASKED = {
    "messages": chat,
    "input": respond,
    "prompt": complete,
}


def post(site: Site, path: str, body: Mapping[str, Any]) -> httpx.Response:
    return httpx.post(
        f"{site.api_url}/{path}",
        json=body,
        headers={"Authorization": f"Bearer {site.key}"},
        timeout=PATIENCE_S,
    )


def set_contexts(site: Site, **by_name: int | None) -> None:
    """Give every worker a small context, and those named another one."""
    workers = Worker.objects.for_team(site.cast.team.id)
    workers.update(context_tokens=SMALL)
    for name, context in by_name.items():
        found = workers.filter(name=name.replace("_", "-"))
        assert found.update(context_tokens=context) == 1


def error_of(answer: httpx.Response) -> tuple[int, str, str | None]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


def nothing_ran() -> bool:
    return not Run.objects.across_teams().exists()


@pytest.mark.parametrize("field", ASKED)
def test_prompt_above_the_byte_limit_names_its_field(
    site: Site, settings: Any, field: str
) -> None:
    settings.MAX_PROMPT_BYTES = 1_000
    path, body = ASKED[field](LONG, "conductor-mini")
    assert error_of(post(site, path, body)) == (400, CODE, field)
    assert nothing_ran()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("field", ASKED)
def test_prompt_that_no_context_holds_is_refused_before_any_call(
    site: Site, field: str, model: str
) -> None:
    set_contexts(site)
    path, body = ASKED[field](LONG, model)
    answer = post(site, path, body)
    assert error_of(answer) == (400, CODE, field)
    assert "at least 333 tokens" in answer.json()["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert nothing_ran()


def test_anthropics_clients_read_that_the_prompt_is_too_long(
    site: Site, settings: Any
) -> None:
    set_contexts(site)
    _, body = chat(LONG, "conductor-mini")
    for limit in (1_000_000, 1_000):
        settings.MAX_PROMPT_BYTES = limit
        answer = post(site, "messages", {**body, "max_tokens": 10})
        error = answer.json()["error"]
        assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
        assert error["message"].startswith("prompt is too long: ")
    assert nothing_ran()


def test_each_text_for_embedding_is_held_against_the_context(site: Site) -> None:
    worker = WorkerFactory.create(
        team=site.cast.team,
        name="vectors",
        base_url=site.simulator_url,
        model="sim-embedding",
        kind=WorkerKind.EMBEDDING,
    )
    pool = site.cast.team.pools.get(is_default=True)
    pool.places.create(team=site.cast.team, worker=worker, position=9)
    set_contexts(site)
    path, body = embed(LONG, "")
    assert error_of(post(site, path, body)) == (400, CODE, "input")
    assert nothing_ran()
    several = {**body, "input": [LONG[:1_500]] * 3}  # together more than the context
    assert post(site, path, several).status_code == 200


def test_rest_and_the_page_refuse_it_too(site: Site) -> None:
    set_contexts(site)
    answer = httpx.post(
        f"{site.url}/api/v1/runs/",
        json={"model": "conductor-mini", "prompt": LONG},
        headers={"Authorization": f"Bearer {site.key}"},
    )
    assert (answer.status_code, CODE in answer.text) == (400, True)
    browser = Client()
    browser.force_login(site.cast.bob)
    page = browser.post(
        "/playground/runs/", {"prompt": LONG}, headers={"accept": "application/json"}
    )
    assert (page.status_code, page.json()["error"]["code"]) == (400, CODE)
    assert nothing_ran()


@pytest.mark.parametrize("roomy", [ROOMY, None])
def test_one_worker_with_room_or_of_unknown_context_is_enough(
    site: Site, roomy: int | None
) -> None:
    set_contexts(site, sim_delta=roomy)
    path, body = chat(LONG, "conductor-mini")
    assert post(site, path, body).status_code == 200


def test_within_the_error_of_the_estimate_the_worker_decides(site: Site) -> None:
    set_contexts(site)
    path, body = chat(LONG[: SMALL * 6], "worker/sim-delta")
    assert post(site, path, body).status_code == 200


def test_conversation_that_fits_once_it_is_cut_is_answered(site: Site) -> None:
    set_contexts(site)
    path, body = chat("What is 6 times 7?", "worker/sim-delta")
    old = [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": "So it is."},
    ]
    body["messages"] = [*old, *body["messages"]]
    answer = post(site, path, body)
    assert "42" in answer.json()["choices"][0]["message"]["content"]
    body["messages"][-1]["content"] = LONG
    assert error_of(post(site, path, body)) == (400, CODE, "messages")
