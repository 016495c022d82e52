"""A response that comes in one piece."""

from __future__ import annotations

from dataclasses import replace

import pytest
from openai.types.responses import Response

from apps.gateway.responses.documents import steps_text
from apps.gateway.responses.ids import response_id
from tests.gateway.fakes import RUN_ID, STEP, completed, failed
from tests.gateway.responses.conftest import ID, WEATHER, Api, calls_json


async def test_document_is_one_of_the_openai_client(api: Api) -> None:
    api.client.run.plays(completed("It is 42."))
    answer = await api.ask()
    response = Response.model_validate(answer.json)
    assert (answer.status, response.id, response.status) == (200, ID, "completed")
    assert response.output_text == "It is 42."
    assert response.created_at == (RUN_ID.int >> 80) // 1000


async def test_request_is_given_back(api: Api) -> None:
    api.client.run.plays(completed())
    answer = await api.ask(
        instructions="Be brief.",
        max_output_tokens=50,
        metadata={"ticket": "7"},
        temperature=0.5,
        top_p=0.9,
        tools=[WEATHER],
        tool_choice={"type": "function", "name": "weather"},
        parallel_tool_calls=False,
        reasoning={"effort": "low", "summary": "auto"},
        user="u-1",
    )
    response = Response.model_validate(answer.json)
    assert response.instructions == "Be brief."
    assert (response.max_output_tokens, response.temperature) == (50, 0.5)
    assert (response.metadata, response.top_p) == ({"ticket": "7"}, 0.9)
    assert answer.json["tools"] == [WEATHER]
    assert answer.json["tool_choice"] == {"type": "function", "name": "weather"}
    assert answer.json["reasoning"] == {"effort": "low", "summary": "auto"}
    assert (response.parallel_tool_calls, response.user) == (False, "u-1")


async def test_usage_adds_up(api: Api) -> None:
    api.client.run.plays(completed())
    usage = (await api.ask()).json["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (120, 30)
    assert usage["total_tokens"] == 150
    assert usage["input_tokens_details"]["cached_tokens"] == 20
    assert usage["input_tokens_details"]["orchestration_input_tokens"] == 20
    assert usage["output_tokens_details"]["orchestration_output_tokens"] == 5


async def test_conductor_object_and_headers_tell_of_the_run(api: Api) -> None:
    api.client.run.plays(completed())
    answer = await api.ask()
    assert answer.json["conductor"]["run_id"] == str(RUN_ID)
    assert answer.headers["x-conductor-run-id"] == str(RUN_ID)
    assert answer.headers["x-conductor-cost-usd"] == "0.001234"


async def test_steps_are_told_as_reasoning(api: Api) -> None:
    api.client.run.plays(completed())
    reasoning, message = (await api.ask()).json["output"]
    assert (reasoning["type"], message["type"]) == ("reasoning", "message")
    assert reasoning["summary"][0]["text"] == (
        "[1/1] Write it. → writer: done in 0.9 s\n"
    )


def test_only_the_beginning_of_a_subtask_is_told() -> None:
    step = replace(STEP, subtask="User: What\n\nis " + "it? " * 30)
    (line,) = steps_text([step]).splitlines()
    assert line.startswith("[1/1] User: What is it? it?")
    assert line.endswith("… → writer: done in 0.9 s")


async def test_direct_call_tells_no_steps(api: Api) -> None:
    api.client.run.plays(completed())
    output = (await api.ask(model="worker/writer")).json["output"]
    assert [item["type"] for item in output] == ["message"]


async def test_tool_calls_are_items_with_our_ids(api: Api) -> None:
    calls = calls_json(("weather", '{"town":"Ulm"}'), ("weather", '{"town":"Bern"}'))
    api.client.run.plays(completed("", finish_reason="tool_calls", tool_calls=calls))
    output = (await api.ask(tools=[WEATHER], model="worker/writer")).json["output"]
    assert [item["call_id"] for item in output] == [
        f"call_{RUN_ID.hex}00",
        f"call_{RUN_ID.hex}01",
    ]
    assert output[1]["arguments"] == '{"town":"Bern"}'
    assert output[0]["id"] == f"fc_{RUN_ID.hex}00"


@pytest.mark.parametrize(
    ("reason", "told"),
    [("length", "max_output_tokens"), ("content_filter", "content_filter")],
)
async def test_cut_answer_is_incomplete(api: Api, reason: str, told: str) -> None:
    api.client.run.plays(completed("It is", finish_reason=reason))
    response = Response.model_validate((await api.ask()).json)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == told
    assert response.completed_at is None


async def test_format_is_given_back(api: Api) -> None:
    shape = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
    api.client.run.plays(completed("{}"))
    told = (await api.ask(text={"format": shape})).json["text"]["format"]
    assert told == {**shape, "description": None, "strict": None}
    order = api.client.backend.orders[-1]
    assert order.params.response_format == {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {"type": "object"}},
    }


async def test_failed_run_is_an_error(api: Api) -> None:
    api.client.run.plays(failed("worker_failed", "all gone"))
    answer = await api.ask()
    assert (answer.status, answer.error["message"]) == (502, "all gone")


async def test_too_long_input_names_the_field_of_this_protocol(api: Api) -> None:
    api.client.run.plays(failed("context_length_exceeded"))
    answer = await api.ask()
    assert (answer.status, answer.error["param"]) == (400, "input")


async def test_client_that_leaves_cancels_the_run(api: Api) -> None:
    answer = api.open()
    answer.leave()
    await api.client.done()
    assert api.client.run.cancelled_for == ["client_closed"]


async def test_background_answers_at_once_and_goes_on(api: Api) -> None:
    answer = await api.ask(background=True)
    response = Response.model_validate(answer.json)
    assert (response.status, response.background) == ("in_progress", True)
    assert response.output == []
    answer.leave()
    assert api.client.run.cancelled_for == []


async def test_same_idempotency_key_is_the_same_response(api: Api) -> None:
    headers = {"idempotency-key": "once"}
    opened = [
        api.client.open("POST", "/v1/responses", b'{"model":"m","input":"a"}',
                        headers=headers)
        for _ in range(2)
    ]  # fmt: skip
    api.client.run.plays(completed())
    await api.client.done()
    assert opened[0].json == opened[1].json
    assert len(api.client.backend.orders) == 1
    assert opened[0].json["id"] == response_id(api.client.run.id)
