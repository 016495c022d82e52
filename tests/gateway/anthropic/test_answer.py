"""A message that is not streamed: its blocks, its stop reason, its usage."""

from __future__ import annotations

import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock

from apps.engine.events import RunCompleted
from tests.gateway.anthropic.conftest import WEATHER, MessageApi, calls_json
from tests.gateway.fakes import RUN_ID, Exchanged, completed

ID = RUN_ID.hex


def message_of(answer: Exchanged) -> Message:
    """Return the answer as the anthropic package reads it, strictly."""
    assert answer.status == 200, answer.body
    return Message.model_validate(answer.json)


async def test_answer_is_a_message(api: MessageApi) -> None:
    api.client.run.plays(completed())
    answer = await api.ask()
    message = message_of(answer)
    assert (message.id, message.role) == (f"msg_{ID}", "assistant")
    assert message.model == "conductor-mini"
    (block,) = message.content
    assert isinstance(block, TextBlock)
    assert block.text == "42"
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)


async def test_usage_sums_up_the_run_and_counts_cached_input_apart(
    api: MessageApi,
) -> None:
    api.client.run.plays(completed())
    usage = message_of(await api.ask()).usage
    assert (usage.input_tokens, usage.cache_read_input_tokens) == (100, 20)
    assert usage.output_tokens == 30


async def test_run_is_told_beside_the_message(api: MessageApi) -> None:
    api.client.run.plays(completed())
    answer = await api.ask()
    told = answer.json["conductor"]
    assert (told["run_id"], told["worker"]) == (str(RUN_ID), "writer")
    assert told["cost_usd"] == answer.headers["x-conductor-cost-usd"] == "0.001234"
    assert answer.headers["x-conductor-run-id"] == str(RUN_ID)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("something_new", "end_turn"),
    ],
)
async def test_reason_is_in_the_protocols_words(
    api: MessageApi, reason: str, told: str
) -> None:
    api.client.run.plays(completed(finish_reason=reason))
    assert message_of(await api.ask()).stop_reason == told


def called(answer: str, arguments: str) -> RunCompleted:
    calls = calls_json(("weather", arguments), ("weather", "{}"))
    return completed(answer, finish_reason="tool_calls", tool_calls=calls)


async def test_tool_calls_are_blocks_whose_ids_lead_back(api: MessageApi) -> None:
    api.client.run.plays(called("I look.", '{"town":"Rome"}'))
    message = message_of(await api.ask(tools=[WEATHER]))
    said, first, second = message.content
    assert isinstance(said, TextBlock)
    assert isinstance(first, ToolUseBlock)
    assert isinstance(second, ToolUseBlock)
    assert (first.id, first.name) == (f"call_{ID}00", "weather")
    assert (first.input, second.input) == ({"town": "Rome"}, {})
    assert message.stop_reason == "tool_use"


async def test_call_without_words_has_no_empty_text(api: MessageApi) -> None:
    api.client.run.plays(called("", "{}"))
    message = message_of(await api.ask(tools=[WEATHER]))
    assert [block.type for block in message.content] == ["tool_use", "tool_use"]


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "null"])
async def test_arguments_that_are_no_object_are_kept_as_text(
    api: MessageApi, arguments: str
) -> None:
    api.client.run.plays(called("", arguments))
    block = message_of(await api.ask(tools=[WEATHER])).content[0]
    assert isinstance(block, ToolUseBlock)
    assert block.input == {"unparsed": arguments}


@pytest.mark.parametrize(
    "thinking",
    [{"type": "adaptive"}, {"type": "enabled", "budget_tokens": 1024}],
)
async def test_progress_is_told_as_thoughts_if_they_are_asked_for(
    api: MessageApi, thinking: dict[str, object]
) -> None:
    api.client.run.plays(completed())
    message = message_of(await api.ask(max_tokens=5000, thinking=thinking))
    thoughts, said = message.content
    assert isinstance(thoughts, ThinkingBlock)
    assert thoughts.thinking == "[1/1] Write it. → writer: done in 0.9 s\n"
    assert ID in thoughts.signature
    assert said.type == "text"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "adaptive", "display": "omitted"}},
        {"model": "worker/writer", "thinking": {"type": "adaptive"}},
        {"conductor": {"progress": "off"}, "thinking": {"type": "adaptive"}},
    ],
)
async def test_there_are_no_thoughts_otherwise(
    api: MessageApi, fields: dict[str, object]
) -> None:
    api.client.run.plays(completed())
    message = message_of(await api.ask(**fields))
    assert [block.type for block in message.content] == ["text"]


async def test_empty_answer_is_one_empty_text(api: MessageApi) -> None:
    api.client.run.plays(completed(""))
    (block,) = message_of(await api.ask()).content
    assert isinstance(block, TextBlock)
    assert block.text == ""


async def test_client_that_leaves_cancels_the_run(api: MessageApi) -> None:
    exchanged = api.open()
    exchanged.leave()
    await api.client.run.cancelled.wait()
    assert api.client.run.cancelled_for == ["client_closed"]
