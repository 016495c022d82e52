"""D4: extra parameters reach the workers that take them, and are named elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
import pytest
from starlette.types import Message, Receive, Scope, Send

from apps.pools.models import Worker
from apps.runs.models import Run
from apps.runs.selectors import run_record
from apps.runs.types import RunRecord
from apps.simulator.app import create_app
from tests.conftest import Site
from tests.serving import serving

WISHES = {"reasoning_effort": "low", "top_k": 5}


@dataclass
class Listening:
    """Simulated models that keep what they were asked."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._models = create_app(speed=0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts: list[bytes] = []

        async def overheard() -> Message:
            message = await receive()
            parts.append(message.get("body", b""))
            if not message.get("more_body", False) and any(parts):
                self.bodies.append(orjson.loads(b"".join(parts)))
                self.paths.append(scope["path"])
                parts.clear()
            return message

        is_asked = scope["type"] == "http" and scope["method"] == "POST"
        await self._models(scope, overheard if is_asked else receive, send)


@pytest.fixture
def heard(site: Site) -> Iterator[Listening]:
    """What the workers of the site's team were asked."""
    models = Listening()
    with serving(models, ws="none") as url:
        Worker.objects.for_team(site.cast.team.id).update(base_url=f"{url}/v1")
        yield models


def ask(site: Site, model: str, **fields: Any) -> httpx.Response:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "What is 2 + 2?"}],
        **fields,
    }
    headers = {"authorization": f"Bearer {site.key}"}
    url = f"{site.api_url}/chat/completions"
    answer = httpx.post(url, json=body, headers=headers, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer


def on_record(site: Site) -> RunRecord:
    run = Run.objects.for_team(site.cast.team.id).latest("created_at")
    return run_record(site.cast.team.id, run.id)


def test_a_direct_call_passes_everything(site: Site, heard: Listening) -> None:
    answer = ask(site, "worker/sim-delta", **WISHES)
    assert WISHES.items() <= heard.bodies[-1].items()
    assert "x-conductor-ignored" not in answer.headers
    record = on_record(site)
    assert record.params["extra"] == WISHES
    assert "ignored_fields" not in record.context


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_tier_whose_workers_do_not_take_them_names_them(
    site: Site, heard: Listening, is_streamed: bool
) -> None:
    answer = ask(site, "conductor-mini", **WISHES, store=True, stream=is_streamed)
    assert not WISHES.keys() & heard.bodies[-1].keys()
    named = "store,reasoning_effort,top_k"
    assert answer.headers["x-conductor-ignored"] == named
    assert on_record(site).context["ignored_fields"] == named


def test_what_a_protocol_has_words_for_is_translated(
    site: Site, heard: Listening
) -> None:
    workers = Worker.objects.for_team(site.cast.team.id)
    workers.update(protocol="anthropic")
    answer = ask(site, "worker/sim-delta", **WISHES, min_p=0.1)
    assert heard.paths[-1].endswith("/messages")
    assert heard.bodies[-1]["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert answer.headers["x-conductor-ignored"] == "min_p"


def test_cache_marks_go_to_a_worker_asked_directly_alone(
    site: Site, heard: Listening
) -> None:
    mark = {"type": "ephemeral"}
    part = {"type": "text", "text": "What is 2 + 2?", "cache_control": mark}
    messages = [{"role": "user", "content": [part]}]
    ask(site, "worker/sim-delta", messages=messages)
    assert heard.bodies[-1]["messages"] == messages
    answer = ask(site, "conductor-mini", messages=messages)
    assert "cache_control" not in orjson.dumps(heard.bodies[-1]).decode()
    assert answer.headers["x-conductor-ignored"] == "cache_control"


def test_a_record_says_what_its_worker_takes_and_is_asked_with(
    site: Site, heard: Listening
) -> None:
    workers = Worker.objects.for_team(site.cast.team.id)
    workers.update(extra_params=["top_k"], extra_body={"x": 1}, reasoning_effort="high")
    answer = ask(site, "conductor-mini", top_k=5, min_p=0.5)
    said = heard.bodies[-1]
    assert (said["top_k"], said["x"], said["reasoning_effort"]) == (5, 1, "high")
    assert "min_p" not in said
    assert answer.headers["x-conductor-ignored"] == "min_p"


def test_a_parameter_that_some_workers_take_is_named_with_the_others(
    site: Site, heard: Listening
) -> None:
    workers = Worker.objects.for_team(site.cast.team.id)
    workers.filter(name="sim-birch").update(extra_params=["top_k"])
    answer = ask(site, "conductor-mini", top_k=5)
    assert answer.headers["x-conductor-ignored"] == "top_k@sim-delta"
