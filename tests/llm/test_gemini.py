"""What goes to Google's protocol, and what only its answers have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from apps.llm.chat import ChatClient
from apps.llm.errors import (
    BadRequest,
    BadResponse,
    ContentFiltered,
    Incomplete,
    LlmError,
)
from apps.llm.protocols.gemini.answer import GeminiReader, read_answer
from apps.llm.protocols.gemini.protocol import NO_SIGNATURE, Gemini
from apps.llm.testing import FakeProvider, refusal_script
from apps.llm.types import (
    ChatRequest,
    Delta,
    Endpoint,
    Finish,
    TokenUsage,
    ToolCallDelta,
)
from tests.llm.conftest import endpoint_of

ENDPOINT = Endpoint("w", "https://h/v1beta/", "gemini-3-a", "k-1", protocol="gemini")
USER = {"role": "user", "content": "Hi"}
ASKED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": i, "function": {"name": f"f_{i}", "arguments": '{"n":1}'}} for i in "ab"
    ],
}
RESULTS = [{"role": "tool", "tool_call_id": i, "content": f"is {i}"} for i in "ba"]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = {
    "type": "function",
    "function": {"name": "f_a", "description": "Does a", "parameters": SCHEMA},
}
OTHER = {"type": "function", "function": {"name": "f_b"}}
WANTED = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}


def body(
    *messages: dict[str, Any], endpoint: Endpoint = ENDPOINT, **fields: Any
) -> Any:
    request = ChatRequest(messages or (USER,), **fields)
    return orjson.loads(Gemini().request_body(endpoint, request, is_stream=False))


def read_all(*chunks: dict[str, Any]) -> list[Delta | Finish]:
    reader = GeminiReader(ENDPOINT)
    items = [*map(reader.read, map(orjson.dumps, chunks)), reader.end(None)]
    return [item for item in items if item is not None]


def chunk(
    *parts: dict[str, Any], reason: str | None = None, **fields: Any
) -> dict[str, Any]:
    candidate = {"content": {"parts": list(parts)}, "finishReason": reason}
    return {"candidates": [candidate], **fields}


def test_plain_question():
    assert body() == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def test_every_field_with_a_word_goes_on_the_wire():
    said = body(
        {"role": "system", "content": "Be brief."},
        USER,
        max_tokens=9,
        temperature=1.5,
        top_p=0.5,
        stop=("END",),
        seed=1,
        response_format=WANTED,
    )
    assert said["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert said["generationConfig"] == {
        "maxOutputTokens": 9,
        "temperature": 1.5,
        "topP": 0.5,
        "stopSequences": ["END"],
        "seed": 1,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }


def test_any_json_needs_no_schema():
    config = body(response_format={"type": "json_object"})["generationConfig"]
    assert config == {"responseMimeType": "application/json"}


def test_json_beside_tools_is_asked_for_in_words():
    said = body(tools=(TOOL,), response_format=WANTED)
    assert "generationConfig" not in said
    assert "JSON schema" in said["systemInstruction"]["parts"][0]["text"]


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-a", "models/gemini-3-a"),
        ("models/gemini-3-a", "models/gemini-3-a"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("a b?c#d:e", "models/a%20b%3Fc%23d%3Ae"),
        ("../../admin", "models/..%2F..%2Fadmin"),
        ("models/../../admin", "models/..%2F..%2Fadmin"),
        ("publishers/a/../b", "models/publishers%2Fa%2F..%2Fb"),
        ("/etc", "models/%2Fetc"),
        ("%2e%2e/admin", "models/%252e%252e%2Fadmin"),
        ("..\\admin", "models/..%5Cadmin"),
    ],
)
def test_model_is_in_the_address(model: str, path: str):
    endpoint = replace(ENDPOINT, model=model)
    address = f"https://h/v1beta/{path}"
    assert Gemini().chat_url(endpoint, is_stream=False) == f"{address}:generateContent"
    assert Gemini().chat_url(endpoint, is_stream=True) == (
        f"{address}:streamGenerateContent?alt=sse"
    )


@pytest.mark.parametrize("model", ["", ".", "..", "models/", "models/.", "models/.."])
def test_name_that_would_be_resolved_is_refused(model: str):
    """T9: a model's name never leads to another path of its host."""
    with pytest.raises(BadRequest, match="model's name"):
        Gemini().chat_url(replace(ENDPOINT, model=model), is_stream=False)


async def test_name_with_dots_and_slashes_stays_below_the_models(
    client: ChatClient, question: ChatRequest
):
    """T9: the path as the provider sees it."""
    async with FakeProvider(refusal_script(404)) as provider:
        endpoint = replace(
            endpoint_of(provider), model="../../admin", protocol="gemini"
        )
        with pytest.raises(LlmError):
            await client.complete(endpoint, question)
    (seen,) = provider.requests
    assert seen.path == "/v1/models/..%2F..%2Fadmin:generateContent"


def test_models_and_headers():
    assert Gemini().models_url(ENDPOINT) == "https://h/v1beta/models?pageSize=1000"
    assert Gemini().headers(ENDPOINT) == (("x-goog-api-key", "k-1"),)
    assert Gemini().headers(replace(ENDPOINT, api_key="")) == ()


def test_only_models_that_answer_are_named():
    listing = {
        "models": [
            {"name": "models/a", "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/b", "supportedGenerationMethods": ["embedContent"]},
            {"name": "models/c"},
            {"name": "models/d", "supportedGenerationMethods": 7},
            {},
            7,
        ]
    }
    assert list(Gemini().model_names(listing) or ()) == ["a", "c", "d", ""]
    assert Gemini().model_names({"models": {}}) is None
    assert Gemini().model_names([]) is None


def test_image_goes_as_bytes_or_address():
    urls = ["data:image/png;base64,aGk=", "https://h/a.jpg?x=1", "https://h/a"]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    assert body({"role": "user", "content": parts})["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://h/a.jpg?x=1"}},
        {"fileData": {"fileUri": "https://h/a"}},
    ]


def test_calls_and_their_results():
    _, asked, answered = body(USER, ASKED, *RESULTS)["contents"]
    assert asked["role"] == "model"
    assert [part["functionCall"] for part in asked["parts"]] == [
        {"id": "a", "name": "f_a", "args": {"n": 1}},
        {"id": "b", "name": "f_b", "args": {"n": 1}},
    ]
    assert answered["role"] == "user"
    assert [part["functionResponse"] for part in answered["parts"]] == [
        {"id": "a", "name": "f_a", "response": {"output": "is a"}},
        {"id": "b", "name": "f_b", "response": {"output": "is b"}},
    ]


def test_images_in_results_stand_beside_them():
    url = {"url": "data:image/png;base64,aGk="}
    content = [
        {"type": "text", "text": "a plot"},
        {"type": "image_url", "image_url": url},
    ]
    shown = {"role": "tool", "tool_call_id": "a", "content": content}
    *_, answered = body(USER, ASKED, shown, RESULTS[0])["contents"]
    first, second, image = answered["parts"]
    assert first["functionResponse"]["response"] == {"output": "a plot"}
    assert second["functionResponse"]["response"] == {"output": "is b"}
    assert image == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}


@pytest.mark.parametrize(
    ("model", "signatures"),
    [
        ("gemini-3-pro", [NO_SIGNATURE, None]),
        ("gemini-flash-latest", [NO_SIGNATURE, None]),
        ("gemini-2.5-pro", [None, None]),
        ("models/gemini-1.5-pro", [None, None]),
        ("gemini-20-pro", [NO_SIGNATURE, None]),
    ],
)
def test_calls_are_marked_as_unsigned_where_signatures_are_checked(
    model: str, signatures: list[str | None]
):
    contents = body(USER, ASKED, endpoint=replace(ENDPOINT, model=model))["contents"]
    parts = contents[1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == signatures


def test_result_of_an_unknown_call_is_a_bad_request():
    with pytest.raises(BadRequest, match="without the call"):
        body(USER, RESULTS[0])


def test_tools_go_with_their_schema():
    said = body(tools=(TOOL, OTHER))
    assert said["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "f_a",
                    "description": "Does a",
                    "parametersJsonSchema": SCHEMA,
                },
                {
                    "name": "f_b",
                    "parametersJsonSchema": {"type": "object", "properties": {}},
                },
            ]
        }
    ]
    assert said["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}


@pytest.mark.parametrize(
    ("choice", "mode", "names"),
    [
        ("none", "NONE", ["f_a", "f_b"]),
        ("required", "ANY", ["f_a", "f_b"]),
        (OTHER, "ANY", ["f_b"]),
    ],
)
def test_choice_of_tools_is_translated(choice: Any, mode: str, names: list[str]):
    said = body(tools=(TOOL, OTHER), tool_choice=choice)
    declared = said["tools"][0]["functionDeclarations"]
    assert [function["name"] for function in declared] == names
    assert said["toolConfig"]["functionCallingConfig"]["mode"] == mode


# --- Answers -------------------------------------------------------------------------


def test_thinking_counts_as_output():
    usage = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 2,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 20,
    }
    items = read_all(chunk({"text": "Hi"}, reason="STOP", usageMetadata=usage))
    assert items[-1] == Finish("stop", "gemini-3-a", TokenUsage(12, 25, 4, 20))


def test_last_usage_counts_and_none_erases_it():
    first = {"promptTokenCount": 10}
    last = {"promptTokenCount": 10, "candidatesTokenCount": 5}
    items = read_all(
        chunk({"text": "a"}, usageMetadata=first),
        chunk({"text": "b"}, usageMetadata=last),
        chunk(reason="STOP"),
    )
    assert items[-1] == Finish("stop", "gemini-3-a", TokenUsage(10, 5))


def test_one_chunk_may_say_everything():
    call = {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "s"}
    thought = {"text": "hm", "thought": True}
    items = read_all(chunk(thought, {"text": "Hi"}, call, reason="STOP"))
    assert items == [
        Delta("Hi", "hm", (ToolCallDelta(0, "call_0", "f", '{"a":1}'),)),
        Finish("tool_calls", "gemini-3-a", None),
    ]


def test_call_without_arguments_has_empty_ones():
    (delta, _) = read_all(chunk({"functionCall": {"name": "f"}}, reason="STOP"))
    assert isinstance(delta, Delta)
    assert delta.tool_calls[0].arguments == "{}"


@pytest.mark.parametrize(
    "quiet",
    [
        {},
        {"candidates": []},
        {"candidates": [{}]},
        {"candidates": [{"content": {"parts": [{"executableCode": {}}, 7]}}]},
        {"usageMetadata": {"candidatesTokenCount": 1}},
    ],
)
def test_chunk_that_says_nothing_is_passed_over(quiet: dict[str, Any]):
    finish = Finish("stop", "gemini-3-a", None)
    assert read_all(quiet, chunk(reason="STOP")) == [finish]


def test_empty_event_is_passed_over():
    assert GeminiReader(ENDPOINT).read(b" ") is None


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "OTHER", "k-1", "NEW"])
def test_stop_for_no_good_reason_is_a_bad_response(reason: str):
    with pytest.raises(BadResponse) as caught:
        read_all(chunk({"text": "Hi"}, reason=reason))
    assert "k-1" not in caught.value.message


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT"])
def test_answer_that_was_withheld_says_so(reason: str):
    refusal = f"The provider withheld the answer: {reason}"
    end = Finish("content_filter", "gemini-3-a", None, refusal=refusal)
    assert read_all(chunk(reason=reason))[-1] == end


def test_C8_the_words_of_the_provider_say_why_an_answer_was_withheld():
    said = chunk(reason="SAFETY")
    said["candidates"][0]["finishMessage"] = "Unsafe. k-1"
    end = read_all(said)[-1]
    assert isinstance(end, Finish)
    assert end.refusal == "Unsafe. [redacted]"


def test_stream_without_a_reason_is_incomplete():
    with pytest.raises(Incomplete):
        read_all(chunk({"text": "Hi"}))


def test_stream_that_ends_inside_a_chunk_is_incomplete():
    reader = GeminiReader(ENDPOINT)
    reader.read(orjson.dumps(chunk(reason="STOP")))
    with pytest.raises(Incomplete):
        reader.end(b'{"candidates"')


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "The provider blocks the prompt: SAFETY"),
        ({"blockReasonMessage": "Unsafe."}, "Unsafe."),
    ],
)
def test_D8_a_blocked_prompt_is_refused_for_its_content(
    more: dict[str, str], words: str
):
    blocked = {"promptFeedback": {"blockReason": "SAFETY", **more}}
    with pytest.raises(ContentFiltered) as caught:
        read_all(blocked)
    with pytest.raises(ContentFiltered):
        read_answer(ENDPOINT, orjson.dumps(blocked))
    assert caught.value.said == words


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({}, "bad_response"),
        ({"candidates": []}, "bad_response"),
        (chunk({"text": "Hi"}), "incomplete"),
        ({"error": {"code": 503, "status": "UNAVAILABLE"}}, "server_error"),
    ],
)
def test_answer_without_an_answer_fails(answer: dict[str, Any], fault: str):
    with pytest.raises(LlmError) as caught:
        read_answer(ENDPOINT, orjson.dumps(answer))
    assert caught.value.fault == fault
