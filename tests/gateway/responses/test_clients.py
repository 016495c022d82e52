"""The openai package against the whole product: server, ledger, simulated models."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import (
    FunctionToolParam,
    Response,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
)
from pydantic import BaseModel

from apps.pools.models import Worker
from apps.runs.models import Run, RunState
from tests.conftest import Site
from tests.factories import issue_key
from tests.patience import awaited

QUESTION = "What is 17 * 23 + 4?"
PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PNG = PNG_HEAD + b"\x00\x00\x00\x07\x00\x00\x00\x09\x08\x02" + bytes(40)
WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "get_weather",
    "description": "Tell the weather of a town.",
    "parameters": {
        "type": "object",
        "properties": {"town": {"type": "string"}},
        "required": ["town"],
    },
    "strict": False,
}


class Sum(BaseModel):
    answer: int


@pytest.fixture
def client(site: Site) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=site.api_url, api_key=site.key, max_retries=0
    ) as client:
        yield client


def test_response_says_what_the_record_says(client: openai.OpenAI, site: Site) -> None:
    response = client.responses.create(model="conductor-ultra", input=QUESTION)
    run = Run.objects.for_team(site.cast.team.id).get()
    assert "395" in response.output_text
    assert response.usage is not None
    assert response.usage.input_tokens == run.prompt_tokens
    assert client.responses.retrieve(response.id) == response


def test_stream_helper_ends_with_the_kept_response(client: openai.OpenAI) -> None:
    kinds = set()
    with client.responses.stream(model="conductor-ultra", input=QUESTION) as stream:
        for event in stream:
            kinds.add(event.type)
        response = stream.get_final_response()
    assert "response.reasoning_summary_text.delta" in kinds
    assert "395" in response.output_text
    kept = client.responses.retrieve(response.id)
    assert kept.output_text == response.output_text
    assert kept.usage == response.usage


async def test_async_client_streams_the_same(site: Site) -> None:
    async with openai.AsyncOpenAI(base_url=site.api_url, api_key=site.key) as client:
        stream = await client.responses.create(
            model="worker/sim-delta", input=QUESTION, stream=True
        )
        text = ""
        async for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
        assert "17 × 23" in text
        assert event.type == "response.completed"
        assert event.response.output_text == text


@pytest.mark.parametrize("model", ["worker/sim-delta", "conductor-mini"])
def test_tools_go_there_and_back(client: openai.OpenAI, model: str) -> None:
    asked = client.responses.create(
        model=model, input="What is the weather in Paris?", tools=[WEATHER]
    )
    call = asked.output[-1]
    assert isinstance(call, ResponseFunctionToolCall)
    assert (call.name, call.arguments) == ("get_weather", '{"town":"Paris"}')
    answer = client.responses.create(
        model=model,
        previous_response_id=asked.id,
        input=[_result(call.call_id, "18 degrees")],
        tools=[WEATHER],
    )
    assert "18 degrees" in answer.output_text
    assert _conductor(answer)["worker"] == _conductor(asked)["worker"]


def test_tool_calls_are_streamed(client: openai.OpenAI) -> None:
    with client.responses.stream(
        model="conductor-mini",
        input="What is the weather in Paris and in Rome?",
        tools=[WEATHER],
    ) as stream:
        done = [
            event.item
            for event in stream
            if event.type == "response.output_item.done"
            and event.item.type == "function_call"
        ]
        final = stream.get_final_response()
    assert {call.arguments for call in done} == {'{"town":"Paris"}', '{"town":"Rome"}'}
    called = [item for item in final.output if item.type == "function_call"]
    assert [call.call_id for call in called] == [call.call_id for call in done]


def test_whole_output_may_be_sent_back(client: openai.OpenAI) -> None:
    first: Any = {"role": "user", "content": "What is the weather in Paris?"}
    asked = client.responses.create(
        model="conductor-ultra", input=[first], tools=[WEATHER]
    )
    called = [item for item in asked.output if item.type == "function_call"]
    again: list[Any] = [
        first,
        *[item.model_dump(exclude_none=True) for item in asked.output],
        *[_result(call.call_id, "18 degrees") for call in called],
    ]
    answer = client.responses.create(
        model="conductor-ultra", input=again, tools=[WEATHER]
    )
    assert "18 degrees" in answer.output_text
    assert _conductor(answer)["planner"] == "tool_continuation"


def test_conversation_goes_on(client: openai.OpenAI) -> None:
    first = client.responses.create(
        model="conductor-mini", input=QUESTION, instructions="Be brief."
    )
    second = client.responses.create(
        model="conductor-mini", input="What is 6 * 7?", previous_response_id=first.id
    )
    assert "6 × 7" in second.output_text
    items = list(client.responses.input_items.list(second.id, order="asc", limit=1))
    assert [item.type for item in items] == ["message"] * 3
    assert isinstance(items[1], ResponseOutputMessage)
    part = items[1].content[0]
    assert part.type == "output_text"
    assert part.text == first.output_text


def test_structured_output_is_parsed(client: openai.OpenAI) -> None:
    parsed = client.responses.parse(
        model="conductor-mini", input=QUESTION, text_format=Sum
    )
    assert parsed.output_parsed == Sum(answer=395)


def test_structured_output_is_streamed(client: openai.OpenAI) -> None:
    with client.responses.stream(
        model="conductor-ultra", input=QUESTION, text_format=Sum
    ) as stream:
        assert stream.get_final_response().output_parsed == Sum(answer=395)


def test_images_reach_the_worker(client: openai.OpenAI, site: Site) -> None:
    Worker.objects.for_team(site.cast.team.id).update(accepts_images=True)
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    content: Any = [
        {"type": "input_text", "text": "How large is the image?"},
        {"type": "input_image", "image_url": url, "detail": "auto"},
    ]
    answer = client.responses.create(
        model="worker/sim-delta", input=[{"role": "user", "content": content}]
    )
    assert "7" in answer.output_text
    assert "9" in answer.output_text


def test_background_run_is_found_at_once_and_ends(client: openai.OpenAI) -> None:
    begun = client.responses.create(
        model="conductor-ultra", input=QUESTION, background=True
    )
    assert begun.status == "in_progress"
    response = _ended(client, begun)
    assert (response.status, response.background) == ("completed", True)
    assert "395" in response.output_text


def test_background_stream_can_be_followed_by_another(client: openai.OpenAI) -> None:
    begun = client.responses.create(
        model="conductor-ultra", input=QUESTION, background=True
    )
    with client.responses.stream(response_id=begun.id) as stream:
        assert "395" in stream.get_final_response().output_text


def test_run_is_stopped(client: openai.OpenAI, site: Site) -> None:
    site.add_worker("fault-stall")
    begun = client.responses.create(
        model="worker/fault-stall", input=QUESTION, background=True
    )
    stopped = client.responses.cancel(begun.id)
    assert stopped.status == "cancelled"
    run = Run.objects.for_team(site.cast.team.id).get()
    assert run.state == RunState.CANCELLED
    assert client.responses.retrieve(begun.id).status == "cancelled"


def test_failed_background_run_says_why(client: openai.OpenAI, site: Site) -> None:
    site.add_worker("fault-401")
    begun = client.responses.create(
        model="worker/fault-401",
        input=QUESTION,
        background=True,
        extra_body={"conductor": {"workers": ["fault-401"]}},
    )
    response = _ended(client, begun)
    assert response.status == "failed"
    assert response.error is not None


def test_failed_stream_raises(client: openai.OpenAI, site: Site) -> None:
    site.add_worker("cut-3")
    stream = client.responses.create(
        model="worker/cut-3",
        input=QUESTION,
        stream=True,
        extra_body={"conductor": {"workers": ["cut-3"]}},
    )
    kinds = []
    with pytest.raises(openai.APIError):
        for event in stream:
            kinds.append(event.type)
    assert kinds[-1] == "response.failed"


def test_errors_are_those_of_the_package(client: openai.OpenAI, site: Site) -> None:
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_" + "0" * 32)
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        client.responses.create(
            model="conductor-mini", input="x", previous_response_id="resp_" + "0" * 32
        )
    with pytest.raises(openai.NotFoundError) as caught:
        client.responses.create(model="conductor-giant", input="x")
    assert caught.value.code == "model_not_found"


def test_other_team_finds_nothing(client: openai.OpenAI, site: Site) -> None:
    response = client.responses.create(model="conductor-mini", input=QUESTION)
    key = issue_key(site.cast.other_team, name="k", created_by=site.cast.mallory)
    other = client.with_options(api_key=key.secret)
    with pytest.raises(openai.NotFoundError):
        other.responses.retrieve(response.id)
    with pytest.raises(openai.NotFoundError):
        other.responses.cancel(response.id)
    with pytest.raises(openai.BadRequestError):
        other.responses.create(
            model="conductor-mini", input="x", previous_response_id=response.id
        )


def _result(call_id: str, output: str) -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _conductor(response: Response) -> dict[str, Any]:
    assert response.model_extra is not None
    found: dict[str, Any] = response.model_extra["conductor"]
    return found


def _ended(client: openai.OpenAI, response: Response) -> Response:
    def look() -> Response | None:
        found = client.responses.retrieve(response.id)
        return found if found.status != "in_progress" else None

    return awaited(look)
