"""What the server makes of it: text, stream, usage, limits and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import httpx
import pytest

from apps.simulator.app import create_app
from apps.simulator.tiny_conductor.serving import TinyConductor
from tests.simulator.asking import CHAT, Asker, body, joined
from tests.simulator.test_images import PNG, content, image

NAME = "tiny-conductor"
MOST = 80
"""Tokens of the reference's answers."""
USAGE = {"stream_options": {"include_usage": True}}


async def test_answers_are_those_of_transformers(reference: Any, ask: Asker) -> None:
    for case in reference["answers"]:
        got = await ask.response(NAME, case["prompt"], max_tokens=MOST)
        choice, usage = got.json()["choices"][0], got.json()["usage"]
        assert choice["message"]["content"] == case["text"]
        assert choice["finish_reason"] == case["finish"]
        assert usage["prompt_tokens"] == case["asked"]
        assert usage["completion_tokens"] == len(case["tokens"])


async def test_stream_and_whole_answer_are_the_same(reference: Any, ask: Asker) -> None:
    for case in reference["answers"]:
        chunks = await ask.chunks(NAME, case["prompt"], max_tokens=MOST, **USAGE)
        assert joined(chunks) == case["text"]
        assert chunks[-2]["usage"]["completion_tokens"] == len(case["tokens"])
        assert chunks[-3]["choices"][0]["finish_reason"] == case["finish"]


async def test_stream_begins_before_the_answer_is_made(tiny: TinyConductor) -> None:
    """The client leaves with the first token; an answer without end would follow."""
    app = create_app(speed=0, tiny_conductor=tiny)
    has_begun = asyncio.Event()
    sent: list[bytes] = []

    async def receive() -> dict[str, Any]:
        if not sent:
            content = httpx.Request("POST", "http://x", json=asked).content
            return {"type": "http.request", "body": content}
        await has_begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if b'"content":"' in sent[-1] and b'"content":""' not in sent[-1]:
            has_begun.set()

    asked = body(NAME, "Question 1", stream=True)
    await app(_scope(), receive, send)
    assert has_begun.is_set()
    assert b"[DONE]" not in sent[-1]
    assert len(sent) < 10


async def test_stop_word_ends_the_answer_and_is_not_sent(
    reference: Any, ask: Asker
) -> None:
    text = reference["answers"][-1]["text"]
    stop = text[20:26]
    before = text[: text.index(stop)]
    options = {"max_tokens": MOST, "stop": [stop, "never said"]}
    assert await ask(NAME, reference["answers"][-1]["prompt"], **options) == before
    prompt = reference["answers"][-1]["prompt"]
    assert joined(await ask.chunks(NAME, prompt, **options)) == before


async def test_beginning_of_a_stop_word_is_sent_in_the_end(
    reference: Any, ask: Asker
) -> None:
    case = reference["answers"][-1]
    options = {"max_tokens": MOST, "stop": [case["text"][-3:] + "and more"]}
    assert joined(await ask.chunks(NAME, case["prompt"], **options)) == case["text"]


async def test_answer_goes_on_from_its_beginning(
    reference: Any, client: httpx.AsyncClient
) -> None:
    case = reference["continued"]
    asked = {
        **body(NAME, case["prompt"], max_tokens=MOST),
        "continue_final_message": True,
        "add_generation_prompt": False,
    }
    asked["messages"].append({"role": "assistant", "content": case["begun"]})
    answer = (await client.post(CHAT, json=asked)).json()
    assert answer["choices"][0]["message"]["content"] == case["text"]
    assert answer["usage"]["prompt_tokens"] == case["asked"]


async def test_prompt_longer_than_the_context_is_refused(ask: Asker) -> None:
    response = await ask.response(NAME, "long " * 200)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "context_length_exceeded"
    assert "512 tokens" in response.json()["error"]["message"]


async def test_answer_ends_where_the_context_does(reference: Any, ask: Asker) -> None:
    case = reference["answers"][-1]
    assert case["finish"] == "length"
    data = (await ask.response(NAME, case["prompt"])).json()
    assert data["usage"]["total_tokens"] <= 512


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"response_format": {"type": "json_object"}}, "response_format"),
        (
            {"tools": [{"type": "function", "function": {"name": "f"}}]},
            "tools",
        ),
    ],
)
async def test_what_it_cannot_do_is_refused(
    ask: Asker, options: dict[str, Any], param: str
) -> None:
    response = await ask.response(NAME, "hi", **options)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


async def test_image_is_refused(ask: Asker) -> None:
    response = await ask.response(NAME, content("What is it?", image(PNG)))
    assert response.status_code == 400
    assert "images" in response.json()["error"]["message"]


async def test_answers_that_are_made_at_once_do_not_mix(
    reference: Any, ask: Asker
) -> None:
    cases = reference["answers"]
    got = await asyncio.gather(
        *(ask(NAME, case["prompt"], max_tokens=MOST) for case in cases)
    )
    assert got == [case["text"] for case in cases]


async def test_it_is_listed_and_counted(client: httpx.AsyncClient, ask: Asker) -> None:
    await ask(NAME, "hi", max_tokens=1)
    names = {each["id"] for each in (await client.get("/v1/models")).json()["data"]}
    assert NAME in names
    assert (await client.get(f"/v1/models/{NAME}")).json()["id"] == NAME
    assert (await client.get("/v1/stats")).json()["requests"] == {NAME: 1}


async def test_other_protocols_have_it_too(
    reference: Any, client: httpx.AsyncClient
) -> None:
    case = reference["answers"][0]
    asked = {**body(NAME, case["prompt"]), "max_tokens": MOST}
    headers = {"anthropic-version": "2023-06-01"}
    answer = await client.post("/v1/messages", json=asked, headers=headers)
    assert answer.json()["content"] == [{"type": "text", "text": case["text"]}]
    assert answer.json()["usage"]["output_tokens"] == len(case["tokens"])


def _scope() -> dict[str, Any]:
    return {"type": "http", "method": "POST", "path": CHAT, "headers": []}
