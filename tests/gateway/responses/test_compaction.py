"""`/v1/responses/compact` and `/v1/responses/input_tokens`."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from openai import OpenAI
from openai.types.responses import CompactedResponse, ResponseCompactionItem

from apps.gateway.responses.compaction import INSTRUCTION
from tests.conftest import Site
from tests.gateway.fakes import RUN_ID, Exchanged, completed, failed, holder
from tests.gateway.responses.conftest import ID, PATH, WEATHER, Api, body, record

ITEM = {"type": "compaction", "encrypted_content": f"cmp_{RUN_ID.hex}00"}
TALK = [
    {"role": "user", "content": "My name is Ada."},
    {"role": "assistant", "content": "Hello, Ada."},
    {"role": "user", "content": "I like primes."},
]


async def _compact(api: Api, **fields: Any) -> Exchanged:
    return await api.client.ask("POST", f"{PATH}/compact", body(**fields))


async def _count(api: Api, **fields: Any) -> int:
    answer = await api.client.ask("POST", f"{PATH}/input_tokens", body(**fields))
    assert answer.json["object"] == "response.input_tokens"
    return int(answer.json["input_tokens"])


async def test_compaction_is_one_of_the_openai_client(api: Api) -> None:
    api.client.run.plays(completed("Ada likes primes."))
    answer = await _compact(api, input=TALK)
    parsed = CompactedResponse.construct(**answer.json)
    assert (parsed.id, parsed.object) == (ID, "response.compaction")
    *said, item = parsed.output
    assert [message.type for message in said] == ["message", "message"]
    ResponseCompactionItem.model_validate(item.to_dict(), strict=True)
    assert answer.json["output"][0]["content"][0]["text"] == "My name is Ada."
    assert answer.json["usage"]["total_tokens"] == 150


async def test_model_is_asked_to_summarize_the_conversation(api: Api) -> None:
    api.client.run.plays(completed())
    await _compact(api, input=TALK, instructions="Be brief.")
    roles = [message["role"] for message in api.messages]
    assert roles == ["system", "user", "assistant", "user", "user"]
    assert api.messages[-1] == INSTRUCTION


async def test_summary_itself_is_not_in_the_item(api: Api) -> None:
    api.client.run.plays(completed("Ada likes primes."))
    answer = await _compact(api, input=TALK)
    assert b"Ada likes primes" not in answer.body


async def test_the_next_request_goes_on_from_the_summary(api: Api) -> None:
    api.keep(record(completed("Ada likes primes.")))
    api.client.run.plays(completed())
    await api.ask(input=[ITEM, {"role": "user", "content": "Who am I?"}])
    assert [message["content"] for message in api.messages] == [
        "Summary of the conversation so far:\n\nAda likes primes.",
        "Who am I?",
    ]


async def test_compaction_of_another_key_is_not_there(api: Api) -> None:
    api.keep(record(completed("Secret."), api_key_id=uuid.UUID(int=99)))
    answer = await api.ask(input=[ITEM, {"role": "user", "content": "Who am I?"}])
    assert answer.status == 400
    assert b"Secret" not in answer.body
    assert api.client.backend.orders == []


@pytest.mark.parametrize("content", ["gAAAA-from-elsewhere", f"msg_{RUN_ID.hex}00", ""])
async def test_compaction_from_elsewhere_is_named(api: Api, content: str) -> None:
    item = {"type": "compaction", "encrypted_content": content}
    answer = await api.ask(input=[item, {"role": "user", "content": "Go on."}])
    assert answer.status == 400
    assert answer.json["error"]["param"] == "input[0].encrypted_content"


async def test_failed_compaction_tells_the_failure_of_its_run(api: Api) -> None:
    api.client.run.plays(failed("context_length_exceeded"))
    answer = await _compact(api, input=TALK)
    assert (answer.status, answer.json["error"]["param"]) == (400, "input")


async def test_conversation_without_the_user_is_not_compacted(api: Api) -> None:
    answer = await _compact(api, input=[{"role": "assistant", "content": "Hello."}])
    assert (answer.status, answer.json["error"]["param"]) == (400, "input")
    assert api.client.backend.orders == []


async def test_counting_starts_no_run_and_counts_all_that_is_sent(api: Api) -> None:
    plain = await _count(api)
    with_more = await _count(api, instructions="Be brief. " * 20)
    with_tools = await _count(api, tools=[WEATHER])
    assert 0 < plain < min(with_more, with_tools)
    assert api.client.backend.orders == []


async def test_counting_needs_the_scope_to_run(api: Api) -> None:
    api.client.backend.caller = holder("runs:read")
    answer = await api.client.ask("POST", f"{PATH}/input_tokens", body())
    assert answer.status == 403


def test_the_openai_client_compacts_counts_and_goes_on(site: Site) -> None:
    with OpenAI(base_url=site.api_url, api_key=site.key) as openai:
        question = "What is 17 * 23 + 4?"
        count = openai.responses.input_tokens.count(
            model="conductor-mini", input=question
        )
        compacted = openai.responses.compact(model="conductor-mini", input=question)
        # The package has no class for a user's item, and warns of it.
        items = [item.to_dict(warnings=False) for item in compacted.output]
        follow: Any = [
            *items,
            {"role": "user", "content": "What is the capital of France?"},
        ]
        answer = openai.responses.create(model="conductor-mini", input=follow)
    assert count.input_tokens > 5
    assert "Paris" in answer.output_text


def test_the_openai_client_compacts_and_counts_what_is_on_record(site: Site) -> None:
    with OpenAI(base_url=site.api_url, api_key=site.key) as openai:
        kept = openai.responses.create(
            model="conductor-mini", input="What is 17 * 23 + 4?"
        )
        count = openai.responses.input_tokens.count(
            model="conductor-mini", previous_response_id=kept.id
        )
        compacted = openai.responses.compact(
            model="conductor-mini", previous_response_id=kept.id
        )
    assert count.input_tokens > 5
    assert [item.type for item in compacted.output] == ["message", "compaction"]


@pytest.mark.parametrize("path", ["compact", "input_tokens"])
async def test_what_is_there_to_read_must_be_named(api: Api, path: str) -> None:
    answer = await api.client.ask("POST", f"{PATH}/{path}", body(input=None))
    assert (answer.status, answer.json["error"]["param"]) == (400, "input")
