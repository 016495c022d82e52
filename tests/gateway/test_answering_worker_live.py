"""Which worker really answered: in a header and in the body of every protocol."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from apps.pools.models import Worker
from tests.conftest import Site
from tests.patience import PATIENCE_S

QUESTION = "What is 17 * 23 + 4?"
MESSAGES = [{"role": "user", "content": QUESTION}]
BODIES: dict[str, dict[str, Any]] = {
    "chat/completions": {"messages": MESSAGES},
    "completions": {"prompt": QUESTION},
    "responses": {"input": QUESTION},
    "messages": {"messages": MESSAGES, "max_tokens": 1_000},
}
EACH = pytest.mark.parametrize("path", BODIES)
HEADER = "x-conductor-worker"


def ask(site: Site, path: str, model: str, **fields: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {site.key}"}
    body = {**BODIES[path], "model": model, **fields}
    url = f"{site.api_url}/{path}"
    return httpx.post(url, json=body, headers=headers, timeout=PATIENCE_S)


def told_last(answer: httpx.Response) -> dict[str, Any]:
    """Return the `conductor` object that a stream ends with."""
    lines = answer.text.splitlines()
    texts = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    events = [json.loads(text) for text in texts if text != "[DONE]"]
    objects = [event.get("response", event).get("conductor") for event in events]
    told: dict[str, Any] = [each for each in objects if each][-1]
    return told


def first_in_pool(site: Site, model: str) -> str:
    """Let a simulated model be asked first; return the worker that is next."""
    site.add_worker(model)
    pool = site.cast.team.pools.get(is_default=True)
    pool.fallback, pool.conductor = pool.workers.get(name=model), None
    pool.save()
    pool.tiers.update(planner="single_worker")
    others = pool.places.order_by("position").exclude(worker__name=model)
    first = others.first()
    assert first is not None
    others.exclude(id=first.id).delete()
    Worker.objects.for_team(site.cast.team.id).update(accepts_prefill=True)
    return str(first.worker.name)


@EACH
def test_C11_a_header_names_the_worker_that_answered(site: Site, path: str) -> None:
    site.add_worker("instant")
    answer = ask(site, path, "worker/instant")
    assert answer.headers[HEADER] == "instant"
    assert answer.json()["conductor"]["worker"] == "instant"


@EACH
def test_C11_after_a_fallback_it_is_the_one_that_took_over(
    site: Site, path: str
) -> None:
    substitute = first_in_pool(site, "fault-401")
    answer = ask(site, path, "conductor-mini")
    assert answer.headers[HEADER] == substitute
    assert answer.json()["conductor"]["worker"] == substitute


@EACH
@pytest.mark.parametrize("model", ["fault-401", "cut-4"])
def test_C11_a_stream_names_it_at_its_end(site: Site, path: str, model: str) -> None:
    substitute = first_in_pool(site, model)
    answer = ask(site, path, "conductor-mini", stream=True)
    assert HEADER not in answer.headers  # it was not known yet
    assert told_last(answer)["worker"] == substitute


def test_C11_a_response_that_is_read_again_names_it(site: Site) -> None:
    substitute = first_in_pool(site, "fault-401")
    asked = ask(site, "responses", "conductor-mini").json()
    headers = {"authorization": f"Bearer {site.key}"}
    url = f"{site.api_url}/responses/{asked['id']}"
    answer = httpx.get(url, headers=headers, timeout=PATIENCE_S)
    assert answer.headers[HEADER] == substitute


def test_C11_without_an_answer_there_is_no_worker(site: Site) -> None:
    site.add_worker("fault-401")
    assert HEADER not in ask(site, "messages", "worker/fault-401").headers


def test_C11_embeddings_name_the_worker_that_made_them(site: Site) -> None:
    site.add_worker("sim-embedding")
    Worker.objects.for_team(site.cast.team.id).filter(name="sim-embedding").update(
        kind="embedding"
    )
    headers = {"authorization": f"Bearer {site.key}"}
    body = {"model": "worker/sim-embedding", "input": "Hello"}
    answer = httpx.post(f"{site.api_url}/embeddings", json=body, headers=headers)
    assert answer.headers[HEADER] == "sim-embedding"
