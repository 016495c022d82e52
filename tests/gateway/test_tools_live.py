"""Tools through the whole product: asked, answered, continued by who asked."""

from __future__ import annotations

from typing import Any

import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion

from tests.conftest import Site

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
QUESTION: Any = {
    "role": "user",
    "content": "Use the tool weather: what is the weather in Rome?",
}
MODELS = ("worker/sim-delta", "conductor-mini", "conductor-ultra")


@pytest.fixture
def client(site: Site) -> OpenAI:
    """Return the official client."""
    return OpenAI(base_url=site.api_url, api_key=site.key, max_retries=0)


def ask(client: OpenAI, model: str, *more: Any, **fields: Any) -> ChatCompletion:
    """Ask with the tool on offer."""
    answer: ChatCompletion = client.chat.completions.create(
        model=model, messages=[QUESTION, *more], tools=[WEATHER], **fields
    )
    return answer


def told(answer: ChatCompletion) -> Any:
    """Return the object `conductor`."""
    return answer.conductor  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", MODELS)
def test_results_go_back_to_who_asked(client: OpenAI, model: str) -> None:
    first = ask(client, model, tool_choice="required")
    message = first.choices[0].message
    calls = message.tool_calls or []
    assert (first.choices[0].finish_reason, len(calls)) == ("tool_calls", 1)
    result = {"role": "tool", "tool_call_id": calls[0].id, "content": "31 degrees"}
    second = ask(client, model, message.model_dump(exclude_none=True), result)
    assert "31 degrees" in (second.choices[0].message.content or "")
    assert told(second)["worker"] == told(first)["worker"]
    is_planned = not model.startswith("worker/")
    assert (told(second)["planner"] == "tool_continuation") is is_planned


@pytest.mark.parametrize("delivery", ["live", "verified"])
@pytest.mark.parametrize("model", MODELS)
def test_streamed_calls_are_assembled_by_the_client(
    client: OpenAI, model: str, delivery: str
) -> None:
    whole = ask(client, model, tool_choice="required").choices[0].message.tool_calls
    with client.chat.completions.stream(
        model=model,
        messages=[QUESTION],
        tools=[WEATHER],
        tool_choice="required",
        extra_body={"conductor": {"delivery": delivery}},
    ) as stream:
        choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls"
    (streamed,), (plain,) = choice.message.tool_calls or [], whole or []
    assert streamed.function.arguments == plain.function.arguments  # type: ignore[union-attr]
    assert streamed.function.name == "weather"
