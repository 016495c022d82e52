"""Idempotency keys against the whole product: promise G8, on a real socket."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from openai import APIStatusError, OpenAI

from apps.engine.events import RunCancelled
from apps.runs.execution.executor import get_executor
from apps.runs.models import Run, RunState
from apps.runs.services import run_find
from tests.conftest import Site

QUESTION = "What is 6 times 7?"
WORDS = " ".join(f"word{number}" for number in range(40))
SLOW = f"[[say {WORDS}]]"
FOREVER = "late-360000"


def body(question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    """Return a completion to ask for."""
    messages = [{"role": "user", "content": question}]
    return {"model": "worker/sim-delta", "messages": messages, **fields}


def client_of(site: Site) -> httpx.AsyncClient:
    """Return a client with as many connections as it likes."""
    return httpx.AsyncClient(
        base_url=site.api_url,
        headers={"authorization": f"Bearer {site.key}", "idempotency-key": "k-1"},
        limits=httpx.Limits(max_connections=100),
        timeout=30,
    )


def test_fifty_at_once_are_one_run(site: Site) -> None:
    async def ask_all() -> list[httpx.Response]:
        async with client_of(site) as client:
            asked = [client.post("/chat/completions", json=body()) for _ in range(50)]
            return await asyncio.gather(*asked)

    answers = asyncio.run(ask_all())
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert Run.objects.for_team(site.cast.team.id).count() == 1


def test_the_same_again_is_told_and_something_else_refused(site: Site) -> None:
    client = OpenAI(base_url=site.api_url, api_key=site.key, max_retries=0)
    key = {"Idempotency-Key": "k-2"}
    first = client.chat.completions.create(**body(), extra_headers=key)
    again = client.chat.completions.create(**body(), extra_headers=key)
    assert again.model_dump() == first.model_dump()
    with pytest.raises(APIStatusError) as refused:
        client.chat.completions.create(**body("What is 7 times 7?"), extra_headers=key)
    assert (refused.value.status_code, refused.value.code) == (
        422,
        "idempotency_conflict",
    )
    assert Run.objects.for_team(site.cast.team.id).count() == 1


def test_a_stream_is_told_again_whole(site: Site) -> None:
    client = OpenAI(base_url=site.api_url, api_key=site.key, max_retries=0)
    texts = []
    for _ in range(2):
        chunks = client.chat.completions.create(
            **body(stream=True), extra_headers={"Idempotency-Key": "k-3"}
        )
        texts.append(
            "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        )
    assert texts[0] == texts[1] != ""
    assert Run.objects.for_team(site.cast.team.id).count() == 1


def test_who_leaves_takes_nothing_from_who_stays(site: Site) -> None:
    site.add_worker("trickle-20")
    asked = body(SLOW, model="worker/trickle-20", stream=True)

    async def ask_twice() -> str:
        async with client_of(site) as client:
            first = client.stream("POST", "/chat/completions", json=asked)
            leaving = await first.__aenter__()
            async with client.stream("POST", "/chat/completions", json=asked) as stays:
                lines = stays.aiter_lines()
                await until(lines, "word0")
                await until(leaving.aiter_lines(), "word0")
                await first.__aexit__(None, None, None)
                return "".join([text_in(line) async for line in lines])

    assert asyncio.run(ask_twice()) == WORDS.removeprefix("word0")
    run = Run.objects.for_team(site.cast.team.id).get()
    assert run.state == RunState.COMPLETED


def test_the_last_to_leave_ends_the_run_and_frees_the_key(site: Site) -> None:
    site.add_worker(FOREVER)
    asked = body(model=f"worker/{FOREVER}", stream=True)
    headers = {"authorization": f"Bearer {site.key}", "idempotency-key": "k-4"}
    with httpx.Client(base_url=site.api_url, headers=headers) as client:
        with client.stream("POST", "/chat/completions", json=asked) as leaving:
            first = uuid.UUID(leaving.headers["x-conductor-run-id"])
            live = run_find(first, site.cast.team.id)
            assert live is not None
            ending = asyncio.run_coroutine_threadsafe(
                live.finished(), get_executor().loop
            )
        assert isinstance(ending.result(timeout=2).end, RunCancelled)
        with client.stream("POST", "/chat/completions", json=asked) as again:
            assert again.headers["x-conductor-run-id"] != str(first)


async def until(lines: AsyncIterator[str], text: str) -> None:
    """Read lines up to one that holds `text`."""
    async for line in lines:
        if text in line:
            return


def text_in(line: str) -> str:
    """Return the piece of the answer that a line of a stream holds."""
    if not line.startswith("data: {"):
        return ""
    choices = json.loads(line.removeprefix("data: "))["choices"]
    return "".join(choice["delta"].get("content") or "" for choice in choices)
