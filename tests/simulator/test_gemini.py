"""What is Gemini's own: its shapes, and what it refuses."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.simulator.speaking import Gemini, events
from tests.simulator.test_images import PNG, image

GEMINI = Gemini()
CITY = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
WEATHER = {"name": "get_weather", "parameters": {**CITY, "required": ["city"]}}
TOOLS = [{"functionDeclarations": [WEATHER]}]
CALL = {"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}}
NUMBER = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}}
ENCODED = image(PNG)["image_url"]["url"].partition(",")[2]


def said(value: str, **options: Any) -> dict[str, Any]:
    about = {"name": "get_weather", "response": {"result": value}, **options}
    return {"functionResponse": about}


def body(*turns: Any, **options: Any) -> dict[str, Any]:
    """Return a request whose turns alternate, the user's first."""
    roles = ("user", "model")
    contents = [
        {
            "role": roles[n % 2],
            "parts": [{"text": turn}] if isinstance(turn, str) else turn,
        }
        for n, turn in enumerate(turns)
    ]
    return {"contents": contents, **options}


async def post(
    client: httpx.AsyncClient, asked: dict[str, Any], model: str = "sim-atlas"
) -> httpx.Response:
    return await client.post(GEMINI.url(model, stream=False), json=asked)


async def parts(
    client: httpx.AsyncClient, *turns: Any, model: str = "sim-atlas", **options: Any
) -> list[Any]:
    response = await post(client, body(*turns, **options), model)
    assert response.status_code == 200, response.text
    found: list[Any] = response.json()["candidates"][0]["content"]["parts"]
    return found


async def text(client: httpx.AsyncClient, *turns: Any, **options: Any) -> str:
    return str((await parts(client, *turns, **options))[0]["text"])


async def test_tools_are_called_and_their_results_used(
    client: httpx.AsyncClient,
) -> None:
    question = "What is the weather in Paris and Rome?"
    calls = await parts(client, question, tools=TOOLS)
    results = [said("18 °C"), said("24 °C")]
    told = await text(client, question, calls, results, tools=TOOLS)
    cities = [call["functionCall"]["args"]["city"] for call in calls]
    assert cities == ["Paris", "Rome"]
    assert "**18 °C**" in told and "**24 °C**" in told


async def test_results_find_their_call_by_id(client: httpx.AsyncClient) -> None:
    calls = [
        {"functionCall": {"name": "get_weather", "id": name}} for name in ("a", "b")
    ]
    results = [said("second", id="b"), said("first", id="a")]
    told = await text(client, "hi", calls, results)
    assert told.startswith("The tools returned:")


async def test_result_of_more_than_a_text_is_told_as_json(
    client: httpx.AsyncClient,
) -> None:
    about = {"name": "get_weather", "response": {"low": 1, "high": 2}}
    told = await text(client, "hi", [CALL], [{"functionResponse": about}])
    assert '{"low":1,"high":2}' in told


@pytest.mark.parametrize(
    ("config", "count"),
    [
        ({}, 1),
        ({"mode": "NONE"}, 0),
        ({"mode": "ANY"}, 1),
        ({"mode": "ANY", "allowedFunctionNames": ["get_weather"]}, 1),
    ],
)
async def test_choice_of_tools_is_heeded(
    client: httpx.AsyncClient, config: dict[str, Any], count: int
) -> None:
    chosen = {"functionCallingConfig": config}
    question = "What is the weather in Oslo?"
    found = await parts(client, question, tools=TOOLS, toolConfig=chosen)
    assert sum("functionCall" in part for part in found) == count


async def test_call_is_streamed_whole(client: httpx.AsyncClient) -> None:
    url = GEMINI.url("sim-atlas", stream=True)
    asked = body("What is the weather in Paris?", tools=TOOLS)
    response = await client.post(url, json=asked)
    streamed = [e["candidates"][0]["content"]["parts"] for e in events(response.text)]
    assert streamed == [[CALL], [{"text": ""}]]


async def test_call_that_is_cut_off_never_shows_up(client: httpx.AsyncClient) -> None:
    asked = body("the weather in Paris", tools=TOOLS)
    asked["generationConfig"] = {"maxOutputTokens": 2}
    answer = (await post(client, asked)).json()["candidates"][0]
    assert answer == {
        "content": {"role": "model"},
        "index": 0,
        "finishReason": "MAX_TOKENS",
    }


async def test_every_event_counts_what_was_sent(client: httpx.AsyncClient) -> None:
    said = await client.post(
        GEMINI.url("tokens-3-0", stream=True), json=body("What is 6*7?")
    )
    counts = [e["usageMetadata"]["candidatesTokenCount"] for e in events(said.text)]
    assert counts == [1, 2, 3, 3]


async def test_thoughts_and_cached_input_are_counted_apart(
    client: httpx.AsyncClient,
) -> None:
    response = await post(client, body("What is 6*7?"), "thinker")
    usage = response.json()["usageMetadata"]
    assert usage["cachedContentTokenCount"] == 3
    assert usage["thoughtsTokenCount"] == 16


async def test_configuration_is_heeded(client: httpx.AsyncClient) -> None:
    config = {"maxOutputTokens": 3, "stopSequences": [" four"]}
    options = {"generationConfig": config, "model": "echo"}
    assert await text(client, "one two three four", **options) == "one two three"


async def test_system_instruction_counts_as_input(client: httpx.AsyncClient) -> None:
    instruction = {"parts": [{"text": "Be brief."}]}
    asked = body("hi", systemInstruction=instruction)
    usage = (await post(client, asked, "echo")).json()["usageMetadata"]
    assert usage["promptTokenCount"] == 12


async def test_last_turn_of_the_model_is_gone_on_from(
    client: httpx.AsyncClient,
) -> None:
    whole = await text(client, "What is 6*7?")
    assert whole[:20] + await text(client, "What is 6*7?", whole[:20]) == whole


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": ENCODED}},
        {"inline_data": {"mime_type": "image/png", "data": ENCODED}},
    ],
)
async def test_images_are_read_in_both_spellings(
    client: httpx.AsyncClient, part: dict[str, Any]
) -> None:
    remote = {"fileData": {"fileUri": "https://example.org/a.png"}}
    told = await text(client, [part, remote, {"text": "Describe the images"}])
    assert "640 × 480 pixels" in told
    assert "2. at https://example.org/a.png" in told


@pytest.mark.parametrize(
    "schema",
    [
        {
            "responseSchema": {
                "type": "OBJECT",
                "properties": {"n": {"type": "INTEGER"}},
            }
        },
        {
            "responseJsonSchema": {
                "type": "object",
                "properties": {"n": {"$ref": "#/$defs/n"}},
                "additionalProperties": False,
                "$defs": {"n": {"type": "integer"}},
            }
        },
    ],
)
async def test_format_is_followed(
    client: httpx.AsyncClient, schema: dict[str, Any]
) -> None:
    config = {"responseMimeType": "application/json", **schema}
    told = await text(client, "What is 6*7?", generationConfig=config)
    assert told == '{"n":42}'


async def test_json_needs_no_schema(client: httpx.AsyncClient) -> None:
    config = {"responseMimeType": "application/json"}
    told = await text(client, "What is 6*7?", generationConfig=config)
    assert told.startswith('{"answer":"42"')


def declared(parameters: Any) -> dict[str, Any]:
    declaration = {"name": "x", "parameters": parameters}
    return body("hi", tools=[{"functionDeclarations": [declaration]}])


@pytest.mark.parametrize(
    "asked",
    [
        body(),
        body("hi", messages=[]),
        body([]),
        body([{"sound": 1}]),
        body([{"functionCall": {"name": "x"}}]),
        body([{"inlineData": {"mimeType": "image/png", "data": "*"}}]),
        {"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]},
        body("hi", [CALL], "no result"),
        body("hi", [CALL], [said("1"), said("2")]),
        body("hi", generationConfig="x"),
        body("hi", generationConfig={"maxOutputTokens": 0}),
        body("hi", generationConfig={"responseSchema": {"type": "STRING"}}),
        body("hi", generationConfig={"responseSchema": {"$ref": "#"}}),
        body("hi", generationConfig={"responseJsonSchema": []}),
        body("hi", toolConfig={"functionCallingConfig": {"mode": "ANY"}}),
        body("hi", toolConfig={"functionCallingConfig": {"mode": "MAYBE"}}),
        body(
            "hi",
            tools=TOOLS,
            toolConfig={"functionCallingConfig": {"allowedFunctionNames": ["x"]}},
        ),
        declared({"type": "OBJECT", "additionalProperties": False}),
        declared({"type": "ARRAY", "items": {"const": 1}}),
        declared({"anyOf": [{"$defs": {}}]}),
        declared({"properties": {"a": {"oneOf": []}}}),
        declared([]),
    ],
)
async def test_broken_request_is_refused(
    client: httpx.AsyncClient, asked: dict[str, Any]
) -> None:
    response = await post(client, asked)
    assert response.status_code == 400
    assert response.json()["error"]["status"] == "INVALID_ARGUMENT"


async def test_stream_comes_only_as_events(client: httpx.AsyncClient) -> None:
    url = "/v1beta/models/echo:streamGenerateContent"
    assert (await client.post(url, json=body("hi"))).status_code == 400


async def test_newer_address_is_the_same(client: httpx.AsyncClient) -> None:
    url = "/v1/models/echo:generateContent"
    assert (await client.post(url, json=body("hi"))).status_code == 200


async def test_context_is_told_in_its_own_words(client: httpx.AsyncClient) -> None:
    response = await post(client, body("hi"), "context-1")
    message = response.json()["error"]["message"]
    assert message.startswith("The input token count (5) exceeds the maximum number")


async def test_models_come_in_pages(client: httpx.AsyncClient) -> None:
    names: list[str] = []
    query: dict[str, Any] = {"pageSize": 7}
    while query:
        response = await client.get("/v1beta/models", params=query)
        page = response.json()
        names += [model["name"] for model in page["models"]]
        token = page.get("nextPageToken")
        query = {"pageSize": 7, "pageToken": token} if token else {}
    assert {"models/sim-atlas", "models/fault-cut"} <= set(names)
    assert len(set(names)) == len(names) > 20


@pytest.mark.parametrize("query", ["pageSize=0", "pageToken=x"])
async def test_page_that_cannot_be_is_refused(
    client: httpx.AsyncClient, query: str
) -> None:
    assert (await client.get(f"/v1beta/models?{query}")).status_code == 400


@pytest.mark.parametrize(
    ("path", "status"), [("models/echo", 200), ("models/nobody", 404), ("other", 404)]
)
async def test_single_model_is_found(
    client: httpx.AsyncClient, path: str, status: int
) -> None:
    assert (await client.get(f"/v1beta/{path}")).status_code == status
