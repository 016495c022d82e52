"""What is Anthropic's own: its shapes, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.simulator.speaking import Anthropic
from tests.simulator.test_images import PNG, image

URL = "/v1/messages"
HEADERS = Anthropic.headers
WEATHER = {
    "name": "get_weather",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}


def result(content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}


def body(*contents: Any, **options: Any) -> dict[str, Any]:
    """Return a request whose turns alternate, the user's first."""
    roles = ("user", "assistant")
    messages = [
        {"role": roles[n % 2], "content": content} for n, content in enumerate(contents)
    ]
    base = {"model": "sim-atlas", "max_tokens": 500, "messages": messages}
    return {**base, **options}


async def ask(client: httpx.AsyncClient, *contents: Any, **options: Any) -> Any:
    asked = body(*contents, **options)
    response = await client.post(URL, json=asked, headers=HEADERS)
    assert response.status_code == 200, response.text
    return response.json()


async def text(client: httpx.AsyncClient, *contents: Any, **options: Any) -> str:
    answer = await ask(client, *contents, **options)
    return str(answer["content"][0]["text"])


async def test_tools_are_called_and_their_results_used(
    client: httpx.AsyncClient,
) -> None:
    question = "What is the weather in Paris?"
    asked = await ask(client, question, tools=[WEATHER])
    use = asked["content"][0]
    said = {"type": "tool_result", "tool_use_id": use["id"], "content": "18 °C"}
    told = await text(client, question, asked["content"], [said], tools=[WEATHER])
    assert (asked["stop_reason"], use["input"]) == ("tool_use", {"city": "Paris"})
    assert told.startswith("**18 °C**")


@pytest.mark.parametrize(
    ("choice", "count"),
    [
        ({"type": "auto"}, 2),
        ({"type": "none"}, 0),
        ({"type": "any"}, 2),
        ({"type": "tool", "name": "get_weather"}, 2),
        ({"type": "auto", "disable_parallel_tool_use": True}, 1),
    ],
)
async def test_choice_of_tools_is_heeded(
    client: httpx.AsyncClient, choice: dict[str, Any], count: int
) -> None:
    question = "What is the weather in Paris and Rome?"
    answer = await ask(client, question, tools=[WEATHER], tool_choice=choice)
    uses = [block for block in answer["content"] if block["type"] == "tool_use"]
    assert len(uses) == count


async def test_stream_opens_and_closes_every_block(client: httpx.AsyncClient) -> None:
    asked = body("[[say Look.]] [[call get_weather {}]]", model="thinker", stream=True)
    response = await client.post(URL, json=asked, headers=HEADERS)
    lines = [line for line in response.text.splitlines() if line.startswith("event: ")]
    names = [line.removeprefix("event: ") for line in lines]
    data = [
        json.loads(line.removeprefix("data: "))
        for line in response.text.splitlines()
        if line.startswith("data: ")
    ]
    blocks = [d["content_block"]["type"] for d in data if "content_block" in d]
    assert names == [d["type"] for d in data]
    assert blocks == ["thinking", "text", "tool_use"]
    assert names.count("content_block_stop") == 3
    assert (names[0], *names[-2:]) == ("message_start", "message_delta", "message_stop")


async def test_cached_input_is_counted_apart(client: httpx.AsyncClient) -> None:
    usage = (await ask(client, "What is 6*7?", model="thinker"))["usage"]
    assert usage["cache_read_input_tokens"] == 3
    assert usage["input_tokens"] == 4


async def test_stop_sequence_is_named(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "one two", model="echo", stop_sequences=[" two"])
    assert answer["stop_reason"] == "stop_sequence"
    assert answer["stop_sequence"] == " two"


@pytest.mark.parametrize(
    "system", ["You know 6*7.", [{"type": "text", "text": "You know 6*7."}]]
)
async def test_system_text_counts_as_input(
    client: httpx.AsyncClient, system: Any
) -> None:
    answer = await ask(client, "hi", model="echo", system=system)
    assert answer["usage"]["input_tokens"] == 13


async def test_last_assistant_message_is_gone_on_from(
    client: httpx.AsyncClient,
) -> None:
    whole = await text(client, "What is 6*7?")
    begun = whole[:20].rstrip()
    assert begun + await text(client, "What is 6*7?", begun) == whole


async def test_images_are_read(client: httpx.AsyncClient) -> None:
    encoded = image(PNG)["image_url"]["url"].partition(",")[2]
    inline = {"type": "base64", "media_type": "image/png", "data": encoded}
    remote = {"type": "url", "url": "https://example.org/a.png"}
    sources = [{"type": "image", "source": source} for source in (inline, remote)]
    asked = {"type": "text", "text": "Describe the images"}
    told = await text(client, [*sources, asked])
    assert "640 × 480 pixels" in told
    assert "2. at https://example.org/a.png" in told


@pytest.mark.parametrize("name", ["output_config", "output_format"])
async def test_format_is_followed(client: httpx.AsyncClient, name: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    wanted = {"type": "json_schema", "schema": schema}
    options = {name: {"format": wanted} if name == "output_config" else wanted}
    assert await text(client, "What is 6*7?", **options) == '{"n":42}'


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        (body("hi", max_tokens=None), "max_tokens"),
        (body("hi", model=""), "model"),
        (body("hi", temperature=1.5), "temperature"),
        (body(), "messages"),
        (body(""), "messages.0"),
        (body("hi", "ends with a blank "), "messages"),
        (body([{"type": "text", "text": " "}]), "messages.0.content.0"),
        (body([{"type": "sound"}]), "messages.0.content.0.type"),
        (body([{"type": "image"}]), "messages.0.content.0.source"),
        (body("hi", [USE]), "messages"),
        (body("hi", [USE], "no result"), "messages[2]"),
        (
            body("hi", [USE], [{"type": "text", "text": "a"}, result("b")]),
            "messages.2.content.1",
        ),
        (body("hi", [{**USE, "id": "a b"}]), "messages.1.content.0.id"),
        (body("hi", [{**USE, "input": "{}"}]), "messages.1.content.0.input"),
        (body("hi", system=[{"type": "text", "text": ""}]), "system.0"),
        (body("hi", tools=[{"name": "x"}]), "tools.0.input_schema"),
        (
            body("hi", tools=[{"name": "x", "input_schema": {}}]),
            "tools.0.input_schema.type",
        ),
        (body("hi", tools=[{"type": "bash", "name": "x"}]), "tools.0.type"),
        (body("hi", tool_choice={"type": "any"}), "tool_choice"),
        (body("hi", tool_choice="auto"), "tool_choice"),
        (body("hi", output_format={"type": "text"}), "output_config.format"),
        (
            {**body(), "messages": [{"role": "system", "content": "x"}]},
            "messages.0.role",
        ),
        (
            {**body(), "messages": [{"role": "assistant", "content": ""}]},
            "messages",
        ),
    ],
)
async def test_broken_request_is_refused_by_place(
    client: httpx.AsyncClient, asked: dict[str, Any], place: str
) -> None:
    response = await client.post(URL, json=asked, headers=HEADERS)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"].startswith(f"{place}: ")


async def test_last_message_may_be_empty(client: httpx.AsyncClient) -> None:
    assert (await text(client, "What is 6*7?", "")).startswith("**42**")


async def test_version_of_the_protocol_is_required(client: httpx.AsyncClient) -> None:
    response = await client.post(URL, json=body("hi"))
    assert response.status_code == 400
    assert "anthropic-version" in response.json()["error"]["message"]


async def test_context_is_told_in_its_own_words(client: httpx.AsyncClient) -> None:
    asked = body("hi", model="context-1")
    response = await client.post(URL, json=asked, headers=HEADERS)
    message = response.json()["error"]["message"]
    assert message == "prompt is too long: 5 tokens > 1 maximum"


async def test_models_come_in_pages(client: httpx.AsyncClient) -> None:
    names: list[str] = []
    page: Any = {"has_more": True}
    while page["has_more"]:
        after = {"after_id": names[-1]} if names else {}
        response = await client.get("/v1/models", params=after, headers=HEADERS)
        page = response.json()
        names += [model["id"] for model in page["data"]]
        assert page["last_id"] == names[-1]
    assert {"sim-atlas", "fault-cut"} <= set(names)
    assert len(set(names)) == len(names) > 20


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "after_id=nobody"])
async def test_page_that_cannot_be_is_refused(
    client: httpx.AsyncClient, query: str
) -> None:
    response = await client.get(f"/v1/models?{query}", headers=HEADERS)
    assert response.status_code == 400


async def test_single_model_is_found(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/models/echo", headers=HEADERS)
    assert response.json()["type"] == "model"
