"""Responses that are read again, stopped, gone on from, and who may do so."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from openai.types.responses import Response

from apps.engine.events import RunCancelled, RunCompleted, RunFailed
from apps.gateway.responses.ids import response_id
from tests.gateway.fakes import (
    RUN_ID,
    TEAM_ID,
    USAGE,
    answer_piece,
    completed,
    failed,
    holder,
    plan,
)
from tests.gateway.responses.conftest import (
    ID,
    WEATHER,
    Api,
    calls_json,
    events_of,
    record,
)
from tests.gateway.responses.test_stream import accumulated

OTHER_RUN = uuid.UUID("01890000-0000-7000-8000-000000000009")
QUESTION = {"role": "user", "content": "What is 6 times 7?"}
STOPPED = RunCancelled("stopped by alice", USAGE, 0, False, 1, 1)


# --- read again ----------------------------------------------------------------------


async def test_response_is_what_it_was(api: Api) -> None:
    fields: dict[str, Any] = {
        "instructions": "Be brief.",
        "metadata": {"ticket": "7"},
        "tools": [WEATHER],
        "max_output_tokens": 5,
        "text": {"format": {"type": "json_object"}},
    }
    api.client.run.plays(completed("{}"))
    first = await api.ask(**fields)
    order = api.client.backend.orders[-1]
    params = {
        "max_tokens": 5,
        "tools": list(order.params.tools),
        "response_format": order.params.response_format,
        "echo": order.echo,
    }
    api.keep(record(completed("{}"), messages=order.messages, params=params))
    assert (await api.get(ID)).json == first.json


async def test_running_response_is_in_progress(api: Api) -> None:
    api.keep(record(params={"echo": {"background": True}}))
    response = Response.model_validate((await api.get(ID)).json)
    assert (response.status, response.background) == ("in_progress", True)
    assert response.usage is None


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (failed("worker_failed"), "failed", "worker_failed"),
        (STOPPED, "cancelled", "run_cancelled"),
    ],
)
async def test_response_without_an_answer_says_why(
    api: Api, end: RunFailed | RunCancelled, status: str, code: str
) -> None:
    api.keep(record(end))
    document = (await api.get(ID)).json
    assert (document["status"], document["error"]["code"]) == (status, code)
    assert [item["type"] for item in document["output"]] == ["reasoning"]


async def test_ended_response_can_be_told_as_a_stream(api: Api) -> None:
    api.keep(record(completed("It is 42.")))
    final = accumulated(events_of(await api.get(f"{ID}?stream=true")))
    assert final.output_text == "It is 42."


async def test_running_response_can_be_followed(api: Api) -> None:
    api.keep(record())
    api.client.backend.live[TEAM_ID, RUN_ID] = api.client.run
    answer = api.client.open("GET", f"/v1/responses/{ID}?stream=true")
    await answer.until(lambda: len(answer.messages) >= 2)
    api.client.run.say(plan(), answer_piece("42."), completed("It is 42."))
    await api.client.done()
    assert accumulated(events_of(answer)).output_text == "It is 42."


async def test_follower_that_leaves_stops_nothing(api: Api) -> None:
    api.keep(record())
    api.client.backend.live[TEAM_ID, RUN_ID] = api.client.run
    answer = api.client.open("GET", f"/v1/responses/{ID}?stream=true")
    await answer.until(lambda: len(answer.messages) >= 2)
    answer.leave()
    api.client.run.say(completed())
    await api.client.done()
    assert api.client.run.cancelled_for == []


async def test_stream_is_not_taken_up_in_the_middle(api: Api) -> None:
    api.keep(record(completed()))
    answer = await api.get(f"{ID}?stream=true&starting_after=3")
    assert (answer.status, answer.error["param"]) == (400, "starting_after")


@pytest.mark.parametrize("name", ["resp_1", ID, "x", "resp_" + "g" * 32])
async def test_unknown_response_is_not_found(api: Api, name: str) -> None:
    answer = await api.get(name)
    assert (answer.status, answer.error["param"]) == (404, "response_id")


async def test_background_request_sent_again_gets_the_ended_response(api: Api) -> None:
    headers = {"idempotency-key": "once"}
    body = b'{"model":"conductor-mini","input":"a","background":true}'
    first = await api.client.ask("POST", "/v1/responses", body, headers=headers)
    run_id = api.client.run.id
    api.keep(record(completed("42")), run_id)
    api.client.run.say(completed("42"))
    del api.client.app
    second = await api.client.ask("POST", "/v1/responses", body, headers=headers)
    assert first.json["status"] == "in_progress"
    assert (second.json["id"], second.json["status"]) == (
        response_id(run_id),
        "completed",
    )


# --- whose it is ---------------------------------------------------------------------


@pytest.mark.parametrize("path", [ID, f"{ID}/input_items", f"{ID}?stream=true"])
async def test_key_of_another_team_finds_nothing(api: Api, path: str) -> None:
    api.keep(record(completed()))
    caller = replace(holder("runs:create", "runs:read"), team_id=uuid.UUID(int=5))
    api.client.backend.caller = caller
    assert (await api.get(path)).status == 404


@pytest.mark.parametrize(
    ("scope", "status"), [("runs:create", 404), ("runs:read", 200)]
)
async def test_response_of_another_key_needs_a_scope(
    api: Api, scope: str, status: int
) -> None:
    api.keep(record(completed(), api_key_id=uuid.UUID(int=8)))
    api.client.backend.caller = holder(scope)
    assert (await api.get(ID)).status == status


async def test_stopping_needs_the_scope_to_run(api: Api) -> None:
    api.keep(record())
    api.client.backend.caller = holder("runs:read")
    answer = await api.client.ask("POST", f"/v1/responses/{ID}/cancel")
    assert answer.status == 403


async def test_conversation_of_another_key_is_not_there(api: Api) -> None:
    api.keep(record(completed(), api_key_id=uuid.UUID(int=8)))
    api.client.backend.caller = holder("runs:create")
    answer = await api.ask(previous_response_id=ID)
    assert (answer.status, answer.error["code"]) == (
        400,
        "previous_response_not_found",
    )


# --- stop, delete, list --------------------------------------------------------------


async def test_stopped_response_is_cancelled(api: Api) -> None:
    api.keep(record())
    api.client.backend.live[TEAM_ID, RUN_ID] = api.client.run
    answer = await api.client.ask("POST", f"/v1/responses/{ID}/cancel")
    assert (answer.status, answer.json["status"]) == (200, "cancelled")
    assert api.client.run.cancelled_for == ["stopped by laptop"]


async def test_stopping_an_ended_response_changes_nothing(api: Api) -> None:
    api.keep(record(completed("42")))
    answer = await api.client.ask("POST", f"/v1/responses/{ID}/cancel")
    assert (answer.status, answer.json["status"]) == (200, "completed")


async def test_run_that_nobody_stops_in_time_is_asked_for_again(api: Api) -> None:
    api.keep(record())
    answer = await api.client.ask("POST", f"/v1/responses/{ID}/cancel")
    assert (answer.status, answer.error["code"]) == (503, "overloaded")


async def test_response_cannot_be_deleted(api: Api) -> None:
    api.keep(record(completed()))
    answer = await api.client.ask("DELETE", f"/v1/responses/{ID}")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert "kept" in answer.error["message"]


async def test_input_is_listed_newest_first(api: Api) -> None:
    api.keep(record(completed(), messages=CONVERSATION))
    page = (await api.get(f"{ID}/input_items")).json
    assert [item["type"] for item in page["data"]] == [
        "function_call_output",
        "function_call",
        "message",
        "message",
    ]
    assert page["data"][2]["content"][0]["type"] == "output_text"
    assert (page["first_id"], page["has_more"]) == (page["data"][0]["id"], False)


async def test_input_is_told_in_the_words_of_this_protocol(api: Api) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    parts = [{"type": "text", "text": "Look."}, image]
    messages: Any = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": parts},
    )
    api.keep(record(completed(), messages=messages))
    system, user = (await api.get(f"{ID}/input_items?order=asc")).json["data"]
    assert system["content"] == [{"type": "input_text", "text": "Be brief."}]
    told = {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"}
    assert user["content"] == [{"type": "input_text", "text": "Look."}, told]


async def test_input_comes_in_pages(api: Api) -> None:
    api.keep(record(completed(), messages=CONVERSATION))
    seen: list[str] = []
    path = f"{ID}/input_items?order=asc&limit=3"
    page = (await api.get(path)).json
    seen += [item["id"] for item in page["data"]]
    assert page["has_more"] is True
    page = (await api.get(f"{path}&after={page['last_id']}")).json
    seen += [item["id"] for item in page["data"]]
    assert (len(set(seen)), page["has_more"]) == (4, False)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("order=up", "order"),
        ("after=msg_1", "after"),
    ],
)
async def test_bad_paging_is_named(api: Api, query: str, param: str) -> None:
    api.keep(record(completed()))
    answer = await api.get(f"{ID}/input_items?{query}")
    assert (answer.status, answer.error["param"]) == (400, param)


# --- going on ------------------------------------------------------------------------

CALL = {
    "id": f"call_{OTHER_RUN.hex}00",
    "type": "function",
    "function": {"name": "weather", "arguments": "{}"},
}
CONVERSATION: Any = (
    QUESTION,
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "content": "Rain", "tool_call_id": CALL["id"]},
)


async def test_previous_response_comes_before(api: Api) -> None:
    api.keep(record(completed("42")), OTHER_RUN)
    api.client.run.plays(completed())
    previous = response_id(OTHER_RUN)
    answer = await api.ask(input="Why?", previous_response_id=previous)
    assert answer.json["previous_response_id"] == previous
    assert api.messages == (
        QUESTION,
        {"role": "assistant", "content": "42"},
        {"role": "user", "content": "Why?"},
    )


async def test_former_instructions_do_not_come_along(api: Api) -> None:
    system = {"role": "system", "content": "Be brief."}
    echo = {"echo": {"has_instructions": True}}
    kept = record(completed("42"), messages=(system, QUESTION), params=echo)
    api.keep(kept, OTHER_RUN)
    api.client.run.plays(completed())
    previous = response_id(OTHER_RUN)
    await api.ask(input="Why?", previous_response_id=previous, instructions="Be rude.")
    assert api.messages[:2] == ({"role": "system", "content": "Be rude."}, QUESTION)


async def test_result_answers_the_call_of_the_previous_response(api: Api) -> None:
    end = completed("", tool_calls=calls_json(("weather", "{}")))
    api.keep(record(end), OTHER_RUN)
    api.client.run.plays(completed())
    result = {
        "type": "function_call_output",
        "call_id": CALL["id"],
        "output": "Rain",
    }
    call = {"type": "function_call", "call_id": CALL["id"], **_function(CALL)}
    previous = response_id(OTHER_RUN)
    for items in ([result], [call, result]):
        answer = await api.ask(
            input=items, previous_response_id=previous, tools=[WEATHER]
        )
        assert answer.status == 200
        assert api.messages[1:] == (
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "content": "Rain", "tool_call_id": CALL["id"]},
        )


@pytest.mark.parametrize("end", [None, failed("worker_failed"), STOPPED])
async def test_response_without_an_answer_has_no_continuation(
    api: Api, end: RunFailed | RunCancelled | None
) -> None:
    api.keep(record(end), OTHER_RUN)
    answer = await api.ask(previous_response_id=response_id(OTHER_RUN))
    assert (answer.status, answer.error["param"]) == (400, "previous_response_id")


async def test_erased_conversation_is_not_there(api: Api) -> None:
    api.keep(record(completed(""), prompt=""), OTHER_RUN)
    answer = await api.ask(previous_response_id=response_id(OTHER_RUN))
    assert (answer.status, answer.error["code"]) == (
        400,
        "previous_response_not_found",
    )


async def test_items_may_be_named_instead_of_repeated(api: Api) -> None:
    end = completed("I look.", tool_calls=calls_json(("weather", "{}")))
    api.keep(record(end), OTHER_RUN)
    api.client.run.plays(completed())
    named = [f"rs_{OTHER_RUN.hex}00", f"msg_{OTHER_RUN.hex}00", f"fc_{OTHER_RUN.hex}00"]
    result = {
        "type": "function_call_output",
        "call_id": CALL["id"],
        "output": "Rain",
    }
    references = [{"type": "item_reference", "id": name} for name in named]
    answer = await api.ask(input=[QUESTION, *references, result], tools=[WEATHER])
    assert (answer.status, api.messages) == (200, CONVERSATION)


async def test_items_of_too_many_responses_are_refused(api: Api) -> None:
    names = [f"msg_{uuid.UUID(int=n).hex}00" for n in range(21)]
    items = [{"type": "item_reference", "id": name} for name in names]
    answer = await api.ask(input=[QUESTION, *items])
    assert (answer.status, answer.error["param"]) == (400, "input")


@pytest.mark.parametrize(
    "name", ["fc_{}01", "fc_{}00", "msg_01890000000070008000000000000abc00"]
)
async def test_unknown_item_is_named(api: Api, name: str) -> None:
    end: RunCompleted = completed("42")
    api.keep(record(end), OTHER_RUN)
    item = {"type": "item_reference", "id": name.format(OTHER_RUN.hex)}
    answer = await api.ask(input=[QUESTION, item])
    assert (answer.status, answer.error["param"]) == (400, "input[1].id")


def _function(call: Any) -> dict[str, str]:
    function: dict[str, str] = call["function"]
    return function
