"""Answers that have begun elsewhere, and are gone on with."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.simulator.workers import WORKERS
from tests.simulator.asking import CHAT, Asker

QUESTION = "What is 17 * 23 + 4?"
GO_ON = {"continue_final_message": True, "add_generation_prompt": False}


async def goes_on(
    client: httpx.AsyncClient, model: str, begun: str, question: str = QUESTION
) -> str:
    messages = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": begun},
    ]
    body = {"model": model, "messages": messages, **GO_ON}
    response = await client.post(CHAT, json=body)
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize("worker", [w.name for w in WORKERS])
async def test_every_beginning_of_its_own_is_finished_exactly(
    client: httpx.AsyncClient, ask: Asker, worker: str
) -> None:
    whole = await ask(worker, QUESTION)
    for length in range(1, len(whole), 7):
        begun = whole[:length]
        assert begun + await goes_on(client, worker, begun) == whole


async def test_beginning_of_another_is_finished_in_its_words(
    client: httpx.AsyncClient, ask: Asker
) -> None:
    for seed_word in range(20):
        question = f"What is 17 * {seed_word + 3} + 4?"
        first = await ask("sim-flint", question)
        body = first.rpartition("\n\n— ")[0]
        begun = first[: len(body) - 3]
        rest = await goes_on(client, "sim-atlas", begun, question)
        assert begun + rest == f"{body}\n\n— simulated worker sim-atlas"


async def test_name_that_has_begun_is_finished(client: httpx.AsyncClient) -> None:
    begun = "**395**\n\n— simulated worker sim-at"
    assert await goes_on(client, "sim-birch", begun) == "las"


async def test_strange_beginning_is_left_as_it_is(client: httpx.AsyncClient) -> None:
    rest = await goes_on(client, "sim-atlas", "Once upon a time")
    assert rest.startswith("\n\n**395**")


async def test_forgetful_model_begins_anew(client: httpx.AsyncClient) -> None:
    whole = await goes_on(client, "forgetful", "**39")
    assert whole.startswith("**395**")


async def test_complete_answer_has_nothing_left(client: httpx.AsyncClient) -> None:
    assert await goes_on(client, "instant", "ok") == ""


async def test_answer_begins_anew_without_the_flag(client: httpx.AsyncClient) -> None:
    messages: Any = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hel"},
    ]
    body = {"model": "echo", "messages": messages}
    answer = (await client.post(CHAT, json=body)).json()
    assert answer["choices"][0]["message"]["content"] == "hello"


@pytest.mark.parametrize(
    ("last", "options"),
    [
        ("assistant", {"continue_final_message": True}),
        ("user", GO_ON),
    ],
)
async def test_flags_that_contradict_are_refused(
    client: httpx.AsyncClient, last: str, options: dict[str, Any]
) -> None:
    messages = [{"role": last, "content": "hi"}]
    body = {"model": "echo", "messages": messages, **options}
    assert (await client.post(CHAT, json=body)).status_code == 400
