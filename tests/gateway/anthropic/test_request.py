"""What a request for a message may hold, and what it becomes."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from apps.gateway.tool_calls import call_id
from tests.gateway.anthropic.conftest import USER, WEATHER, MessageApi, result, use
from tests.gateway.fakes import RUN_ID, TEAM_ID, completed

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PNG},
}
CALL_ID = call_id(RUN_ID, 0)
OTHER_ID = call_id(RUN_ID, 1)


def text(words: str, **more: Any) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": words, **more}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of before."""
    return {"role": "assistant", "content": list(blocks)}


async def test_text_is_the_prompt_unchanged(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask()
    assert (api.order.prompt, api.order.messages) == ("What is 6 times 7?", ())
    assert (api.order.source, api.order.model) == ("api", "conductor-mini")


async def test_one_block_of_text_is_the_prompt_unchanged(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(messages=[user(text(" Hello\n"))])
    assert api.order.prompt == " Hello\n"


async def test_parameters_go_to_the_run(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(max_tokens=9, temperature=0.5, top_p=0.9, stop_sequences=["END"])
    params = api.order.params
    assert (params.max_tokens, params.temperature, params.top_p) == (9, 0.5, 0.9)
    assert params.stop == ("END",)


@pytest.mark.parametrize("system", ["Be brief.", [text("Be brief.")]])
async def test_system_prompt_comes_first(api: MessageApi, system: Any) -> None:
    api.client.run.plays(completed())
    await api.ask(system=system)
    assert api.messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 6 times 7?"},
    )


async def test_system_texts_from_everywhere_are_one_message(api: MessageApi) -> None:
    api.client.run.plays(completed())
    late = {"role": "system", "content": "Today is Monday."}
    await api.ask(
        system=[text("Be brief."), text("Be kind.")],
        messages=[USER, late],
    )
    together = "Be brief.\n\nBe kind.\n\nToday is Monday."
    assert [m["role"] for m in api.messages] == ["system", "user"]
    assert api.messages[0]["content"] == together


async def test_line_for_a_providers_accounting_reaches_no_model(
    api: MessageApi,
) -> None:
    api.client.run.plays(completed())
    await api.ask(system=[text("x-anthropic-billing-header: cc_version=2;")])
    assert api.order.messages == ()


async def test_texts_of_one_message_are_blocks_of_the_prompt(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(messages=[user(text("First."), text(""), text("Second."))])
    assert api.order.prompt == "First.\n\nSecond."


async def test_neighbours_of_one_role_are_one_turn(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(messages=[user(text("A")), user(text("B"))])
    assert api.order.prompt == "A\n\nB"


async def test_thoughts_of_earlier_answers_are_left_out(api: MessageApi) -> None:
    api.client.run.plays(completed())
    answer = assistant(
        {"type": "thinking", "thinking": "secret", "signature": "s"},
        {"type": "redacted_thinking", "data": "secret"},
        text("42"),
    )
    await api.ask(messages=[USER, answer, user(text("Sure?"))])
    assert [m["content"] for m in api.messages] == [
        "What is 6 times 7?",
        "42",
        "Sure?",
    ]
    assert "secret" not in api.order.prompt


async def test_image_reaches_the_worker(api: MessageApi) -> None:
    api.client.run.plays(completed())
    linked = {"type": "image", "source": {"type": "url", "url": "https://a.example/b"}}
    await api.ask(messages=[user(text("What is it?"), IMAGE, linked)])
    assert api.messages[0]["content"] == [
        {"type": "text", "text": "What is it?"},
        {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{PNG}"},
        },
        {"type": "image_url", "image_url": {"url": "https://a.example/b"}},
    ]


async def test_document_of_text_is_text(api: MessageApi) -> None:
    api.client.run.plays(completed())
    plain = {"type": "text", "media_type": "text/plain", "data": "It rains."}
    inner = {"type": "content", "content": [text("It snows.")]}
    found = {
        "type": "search_result",
        "title": "C",
        "source": "s",
        "content": [text("c")],
    }
    await api.ask(
        messages=[
            user(
                {"type": "document", "source": plain, "title": "Rome"},
                {"type": "document", "source": inner, "context": "Old"},
                found,
                text("Compare."),
            )
        ]
    )
    expected = "Rome\n\nIt rains.\n\nOld\n\nIt snows.\n\nC\n\ns\n\nc\n\nCompare."
    assert api.order.prompt == expected


async def test_tool_calls_and_results_stay_together(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(
        tools=[WEATHER],
        messages=[
            USER,
            assistant(text("I look."), use(CALL_ID, town="Rome"), use(OTHER_ID)),
            # The note stands before the results: in chat completions it must not.
            user(text("Hurry."), result(CALL_ID), result(OTHER_ID, [text("rain")])),
        ],
    )
    asked, called, first, second, note = api.messages
    assert asked["role"] == "user"
    assert called["content"] == "I look."
    assert called["tool_calls"] == [
        {
            "id": CALL_ID,
            "type": "function",
            "function": {"name": "weather", "arguments": '{"town":"Rome"}'},
        },
        {
            "id": OTHER_ID,
            "type": "function",
            "function": {"name": "weather", "arguments": "{}"},
        },
    ]
    assert first == {"role": "tool", "content": "sunny", "tool_call_id": CALL_ID}
    assert second == {"role": "tool", "content": "rain", "tool_call_id": OTHER_ID}
    assert note == {"role": "user", "content": "Hurry."}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("no such town", "Error: no such town"),
        (None, "Error: "),
        ([text("a"), text("b")], "Error: a\n\nb"),
    ],
)
async def test_failed_tool_is_told_in_words(
    api: MessageApi, content: Any, told: str
) -> None:
    api.client.run.plays(completed())
    failed = result(CALL_ID, content, is_error=True)
    await api.ask(messages=[USER, assistant(use(CALL_ID)), user(failed)])
    assert api.messages[-1]["content"] == told


async def test_image_in_a_tools_result_is_kept(api: MessageApi) -> None:
    api.client.run.plays(completed())
    shot = result(CALL_ID, [IMAGE], is_error=True)
    await api.ask(messages=[USER, assistant(use(CALL_ID)), user(shot)])
    parts = api.messages[-1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"]  # type: ignore[index]


@pytest.mark.parametrize("note", [(), (text("Hurry."),)])
async def test_results_go_to_the_worker_that_asked(
    api: MessageApi, note: tuple[Any, ...]
) -> None:
    api.client.run.plays(completed())
    api.client.backend.askers[TEAM_ID, RUN_ID] = "writer"
    await api.ask(
        messages=[USER, assistant(use(CALL_ID)), user(result(CALL_ID), *note)]
    )
    assert api.order.continues == "writer"


async def test_new_question_after_results_is_planned_anew(api: MessageApi) -> None:
    api.client.run.plays(completed())
    api.client.backend.askers[TEAM_ID, RUN_ID] = "writer"
    before = [USER, assistant(use(CALL_ID)), user(result(CALL_ID))]
    await api.ask(messages=[*before, assistant(text("Sunny.")), user(text("And?"))])
    assert api.order.continues == ""


async def test_tools_and_choice_reach_the_order(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(
        tools=[{**WEATHER, "type": "custom", "cache_control": {"type": "ephemeral"}}],
        tool_choice={
            "type": "tool",
            "name": "weather",
            "disable_parallel_tool_use": True,
        },
    )
    params = api.order.params
    assert params.tools == (
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "Tell the weather of a town.",
                "parameters": WEATHER["input_schema"],
            },
        },
    )
    assert params.tool_choice == {"type": "function", "function": {"name": "weather"}}
    assert params.parallel_tool_calls is False


@pytest.mark.parametrize(
    ("kind", "word"), [("auto", "auto"), ("any", "required"), ("none", "none")]
)
async def test_choice_of_one_word_is_translated(
    api: MessageApi, kind: str, word: str
) -> None:
    api.client.run.plays(completed())
    await api.ask(tools=[WEATHER], tool_choice={"type": kind})
    assert api.order.params.tool_choice == word
    assert api.order.params.parallel_tool_calls is None


async def test_schema_of_the_answer_is_that_of_the_run(api: MessageApi) -> None:
    api.client.run.plays(completed())
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    shape = {"type": "json_schema", "schema": schema}
    await api.ask(output_config={"effort": "high", "format": shape})
    assert api.order.params.response_format == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema},
    }


async def test_run_is_narrowed(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(conductor={"workers": ["writer"], "delivery": "verified"})
    assert api.order.restrictions.workers == ("writer",)
    assert api.order.delivery == "verified"


async def test_what_not_every_model_takes_is_passed_on(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask(
        max_tokens=5000,
        top_k=40,
        service_tier="standard_only",
        thinking={"type": "enabled", "budget_tokens": 2048, "display": "omitted"},
        output_config={"effort": "low"},
        cache_control={"type": "ephemeral", "ttl": "1h"},
    )
    assert api.order.params.extra == {
        "top_k": 40,
        "service_tier": "standard_only",
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "reasoning_effort": "low",
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    }


@pytest.mark.parametrize(
    ("kind", "passed"),
    [
        ("adaptive", "adaptive"),
        ("between_tools", "adaptive"),
        ("disabled", "disabled"),
    ],
)
async def test_thinking_is_told_in_words_that_workers_know(
    api: MessageApi, kind: str, passed: str
) -> None:
    api.client.run.plays(completed())
    await api.ask(thinking={"type": kind})
    assert api.order.params.extra == {"thinking": {"type": passed}}


async def test_plain_request_has_nothing_extra(api: MessageApi) -> None:
    api.client.run.plays(completed())
    await api.ask()
    assert api.order.params.extra is None


async def test_cache_marks_stay_where_they_are(api: MessageApi) -> None:
    api.client.run.plays(completed())
    mark = {"type": "ephemeral"}
    await api.ask(
        system=[text("A"), text("B", cache_control=mark), text("C")],
        messages=[
            USER,
            assistant(use(CALL_ID)),
            user(result(CALL_ID, "sunny", cache_control={**mark, "ttl": "5m"})),
        ],
    )
    system, _, _, tool = api.messages
    assert system["content"] == [
        {"type": "text", "text": "A\n\nB", "cache_control": mark},
        {"type": "text", "text": "\n\nC"},
    ]
    assert tool["content"] == [
        {"type": "text", "text": "sunny", "cache_control": {**mark, "ttl": "5m"}}
    ]
    assert api.order.params.extra == {"cache_control": True}
    assert api.order.prompt.startswith("A\n\nB\n\nC\n\nUser: ")


# --- what has no effect --------------------------------------------------------------


async def test_unknown_fields_are_accepted_and_named(api: MessageApi) -> None:
    api.client.run.plays(completed())
    answer = await api.ask(
        metadata={"user_id": "u"}, context_management={"edits": []}, container="c"
    )
    assert answer.status == 200
    names = "container,context_management"
    assert answer.headers["x-conductor-ignored"] == names
    assert api.order.ignored == names


async def test_tools_that_no_worker_can_use_are_left_out_and_named(
    api: MessageApi,
) -> None:
    api.client.run.plays(completed())
    answer = await api.ask(
        tools=[
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
            WEATHER,
            {"type": "bash_20250124", "name": "bash"},
        ],
        tool_choice={"type": "any"},
    )
    names = [tool["function"]["name"] for tool in api.order.params.tools]
    assert (names, api.order.params.tool_choice) == (["weather"], "required")
    assert (
        answer.headers["x-conductor-ignored"]
        == "tools.bash_20250124,tools.web_search_20250305"
    )


@pytest.mark.parametrize(
    "choice", [{"type": "any"}, {"type": "tool", "name": "web_search"}]
)
async def test_tool_that_is_required_is_not_left_out(
    api: MessageApi, choice: dict[str, Any]
) -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    answer = await api.ask(tools=[search], tool_choice=choice)
    assert answer.status == 400
    assert answer.error["message"].startswith("tool_choice")


async def test_work_of_a_providers_own_tools_is_skipped_and_named(
    api: MessageApi,
) -> None:
    api.client.run.plays(completed())
    searched = assistant(
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        text("It rains."),
    )
    answer = await api.ask(messages=[USER, searched, user(text("Sure?"))])
    assert [m["content"] for m in api.messages][1:] == ["It rains.", "Sure?"]
    assert (
        answer.headers["x-conductor-ignored"]
        == "messages.server_tool_use,messages.web_search_tool_result"
    )
