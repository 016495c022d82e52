"""The anthropic package against the whole product: server, ledger, simulated models."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types import (
    Message,
    MessageParam,
    TextBlock,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlock,
)
from pydantic import BaseModel

from apps.pools.models import Worker
from apps.runs.models import Run, Step
from tests.conftest import Site
from tests.factories import issue_key
from tests.runs.asking import planned

QUESTION: MessageParam = {"role": "user", "content": "What is 17 * 23 + 4?"}
PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PNG = PNG_HEAD + b"\x00\x00\x00\x07\x00\x00\x00\x09\x08\x02" + bytes(40)
WEATHER: ToolParam = {
    "name": "get_weather",
    "description": "Tell the weather of a town.",
    "input_schema": {
        "type": "object",
        "properties": {"town": {"type": "string"}},
        "required": ["town"],
    },
}


class Sum(BaseModel):
    answer: int


@pytest.fixture
def client(site: Site) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=site.url, api_key=site.key, max_retries=0
    ) as client:
        yield client


def said(message: Message) -> str:
    """Return the text of an answer."""
    return "".join(b.text for b in message.content if isinstance(b, TextBlock))


def told(message: Message) -> dict[str, Any]:
    """Return what the answer tells of its run."""
    assert message.model_extra is not None
    found: dict[str, Any] = message.model_extra["conductor"]
    return found


def ask(client: anthropic.Anthropic, model: str, **more: Any) -> Message:
    """Ask the usual question, or another one."""
    given = {"max_tokens": 1000, "messages": [QUESTION], **more}
    message: Message = client.messages.create(model=model, **given)
    return message


@pytest.mark.parametrize(
    "model", ["conductor-mini", "conductor-ultra", "POOL/mini", "worker/sim-delta"]
)
def test_message_says_what_the_record_says(
    client: anthropic.Anthropic, site: Site, model: str
) -> None:
    model = model.replace("POOL", site.cast.team.pools.get().name)
    message = ask(client, model)
    run = Run.objects.for_team(site.cast.team.id).get()
    assert "17 × 23" in said(message) or "395" in said(message)
    assert message.id == f"msg_{run.id.hex}"
    assert (message.model, message.stop_reason) == (model, "end_turn")
    cached = message.usage.cache_read_input_tokens or 0
    assert message.usage.input_tokens + cached == run.prompt_tokens
    assert message.usage.output_tokens == run.completion_tokens
    assert told(message)["run_id"] == str(run.id)


def test_either_header_carries_the_key(site: Site) -> None:
    with anthropic.Anthropic(base_url=site.url, auth_token=site.key) as client:
        assert "395" in said(ask(client, "conductor-mini"))
    with anthropic.Anthropic(
        base_url=site.url,
        api_key="sk-of-another-service",
        default_headers={"x-api-key": site.key},
    ) as client:
        assert "395" in said(ask(client, "conductor-mini"))


def test_stream_helper_ends_with_the_kept_message(
    client: anthropic.Anthropic, site: Site
) -> None:
    with client.messages.stream(
        model="conductor-ultra", max_tokens=1000, messages=[QUESTION]
    ) as stream:
        texts = list(stream.text_stream)
        message = stream.get_final_message()
    run = Run.objects.for_team(site.cast.team.id).get()
    assert "".join(texts) == said(message)
    assert "395" in said(message)
    assert message.stop_reason == "end_turn"
    cached = message.usage.cache_read_input_tokens or 0
    assert message.usage.input_tokens + cached == run.prompt_tokens
    assert message.usage.output_tokens == run.completion_tokens


async def test_async_client_streams_the_same(site: Site) -> None:
    async with anthropic.AsyncAnthropic(base_url=site.url, api_key=site.key) as client:
        async with client.messages.stream(
            model="worker/sim-delta", max_tokens=1000, messages=[QUESTION]
        ) as stream:
            message = await stream.get_final_message()
        assert "17 × 23" in said(message)


def test_thoughts_tell_what_the_run_does(client: anthropic.Anthropic) -> None:
    with client.messages.stream(
        model="conductor-ultra",
        max_tokens=4000,
        thinking={"type": "enabled", "budget_tokens": 1024},
        messages=[QUESTION],
    ) as stream:
        thoughts = [event.thinking for event in stream if event.type == "thinking"]
        message = stream.get_final_message()
    assert "".join(thoughts).startswith("Plan: ")
    first = message.content[0]
    assert first.type == "thinking"
    assert (first.thinking, bool(first.signature)) == ("".join(thoughts), True)
    again = ask(
        client,
        "conductor-mini",
        messages=[QUESTION, message.to_param(), {"role": "user", "content": "And?"}],
    )
    assert said(again)


@pytest.mark.parametrize("model", ["worker/sim-delta", "conductor-mini"])
def test_tools_go_there_and_back(client: anthropic.Anthropic, model: str) -> None:
    first: MessageParam = {"role": "user", "content": "What is the weather in Paris?"}
    asked = ask(client, model, messages=[first], tools=[WEATHER])
    call = asked.content[-1]
    assert isinstance(call, ToolUseBlock)
    assert (call.name, call.input) == ("get_weather", {"town": "Paris"})
    assert asked.stop_reason == "tool_use"
    answer = ask(
        client,
        model,
        messages=[first, asked.to_param(), _results(asked, "18 degrees")],
        tools=[WEATHER],
    )
    assert "18 degrees" in said(answer)
    assert told(answer)["worker"] == told(asked)["worker"]


def test_the_tool_runner_goes_on_without_a_thread_on_the_server(
    client: anthropic.Anthropic,
) -> None:
    @anthropic.beta_tool
    def get_weather(town: str) -> str:
        """Return the weather in a town."""
        return f"18 degrees in {town}"

    answer = client.beta.messages.tool_runner(
        model="conductor-mini",
        max_tokens=1000,
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[get_weather],
    ).until_done()
    last = answer.content[-1]
    assert last.type == "text"
    assert "18 degrees in Paris" in last.text


def test_note_beside_the_results_goes_to_the_worker_that_asked_as_well(
    client: anthropic.Anthropic,
) -> None:
    first: MessageParam = {"role": "user", "content": "What is the weather in Paris?"}
    asked = ask(client, "conductor-ultra", messages=[first], tools=[WEATHER])
    results = _results(asked, "18 degrees")
    assert isinstance(results["content"], list)
    results["content"].append({"type": "text", "text": "Answer in one sentence."})
    answer = ask(
        client,
        "conductor-ultra",
        messages=[first, asked.to_param(), results],
        tools=[WEATHER],
    )
    assert told(answer)["planner"] == "tool_continuation"
    assert told(answer)["worker"] == told(asked)["worker"]


def test_tool_calls_are_streamed(client: anthropic.Anthropic) -> None:
    with client.messages.stream(
        model="conductor-mini",
        max_tokens=1000,
        messages=[
            {"role": "user", "content": "What is the weather in Paris and in Rome?"}
        ],
        tools=[WEATHER],
    ) as stream:
        inputs = [
            event.content_block.input
            for event in stream
            if event.type == "content_block_stop"
            and event.content_block.type == "tool_use"
        ]
        final = stream.get_final_message()
    assert inputs == [{"town": "Paris"}, {"town": "Rome"}]
    assert final.stop_reason == "tool_use"


def test_structured_output_is_parsed(client: anthropic.Anthropic) -> None:
    parsed = client.messages.parse(
        model="conductor-mini",
        max_tokens=1000,
        messages=[QUESTION],
        output_format=Sum,
    )
    assert parsed.parsed_output == Sum(answer=395)


def test_worker_gets_of_another_protocols_words_what_its_record_lists(
    client: anthropic.Anthropic, site: Site
) -> None:
    Worker.objects.for_team(site.cast.team.id).update(extra_params=["top_k"])
    answer = client.messages.with_raw_response.create(
        model="worker/sim-delta",
        max_tokens=4000,
        thinking={"type": "adaptive"},
        output_config={"effort": "high"},
        messages=[{"role": "user", "content": [_marked(QUESTION)]}],
        extra_body={"top_k": 40},
    )
    ignored = answer.headers["x-conductor-ignored"]
    assert ignored == "cache_control,reasoning_effort,thinking"


def test_images_reach_the_worker(client: anthropic.Anthropic, site: Site) -> None:
    Worker.objects.for_team(site.cast.team.id).update(accepts_images=True)
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(PNG).decode(),
    }
    content = [
        {"type": "text", "text": "How large is the image?"},
        {"type": "image", "source": source},
    ]
    answer = ask(
        client,
        "worker/sim-delta",
        messages=[{"role": "user", "content": content}],
    )
    assert "7" in said(answer)
    assert "9" in said(answer)


def test_tokens_are_counted_without_a_run(
    client: anthropic.Anthropic, site: Site
) -> None:
    short = client.messages.count_tokens(model="conductor-mini", messages=[QUESTION])
    long = client.messages.count_tokens(
        model="conductor-mini", messages=[QUESTION], tools=[WEATHER], system="Be brief."
    )
    assert 0 < short.input_tokens < long.input_tokens
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_models_are_listed_page_by_page(client: anthropic.Anthropic) -> None:
    names = [model.id for model in client.models.list(limit=2)]
    assert {"conductor-mini", "conductor-ultra", "worker/sim-delta"} <= set(names)
    assert client.models.retrieve("worker/sim-delta").id == "worker/sim-delta"


def test_retry_with_the_same_key_is_the_same_message(
    client: anthropic.Anthropic,
) -> None:
    headers = {"Idempotency-Key": "message-1"}
    first = ask(client, "conductor-mini", extra_headers=headers)
    again = ask(client, "conductor-mini", extra_headers=headers)
    assert again.id == first.id


# --- errors --------------------------------------------------------------------------


def test_errors_are_those_of_the_package(
    client: anthropic.Anthropic, site: Site
) -> None:
    with pytest.raises(anthropic.NotFoundError) as unknown:
        ask(client, "conductor-giant")
    assert unknown.value.type == "not_found_error"
    assert unknown.value.request_id
    with pytest.raises(anthropic.BadRequestError, match=r"messages\[0\]\.role"):
        ask(client, "conductor-mini", messages=[{"role": "tool", "content": ""}])
    stranger = client.with_options(api_key="cdk_nobody")
    with pytest.raises(anthropic.AuthenticationError):
        ask(stranger, "conductor-mini")
    weak = issue_key(
        site.cast.team,
        name="weak",
        created_by=site.cast.alice,
        scopes=["runs:create"],
    )
    with pytest.raises(anthropic.PermissionDeniedError):
        ask(client.with_options(api_key=weak.secret), "worker/sim-delta")


def test_other_team_cannot_ask_our_workers(
    client: anthropic.Anthropic, site: Site
) -> None:
    key = issue_key(site.cast.other_team, name="k", created_by=site.cast.mallory)
    other = client.with_options(api_key=key.secret)
    with pytest.raises(anthropic.NotFoundError):
        ask(other, "worker/sim-delta")
    with pytest.raises(anthropic.NotFoundError):
        other.messages.count_tokens(model="worker/sim-delta", messages=[QUESTION])


def test_failed_run_raises_and_is_not_retried_if_that_is_vain(site: Site) -> None:
    site.add_worker("fault-401")
    with (
        anthropic.Anthropic(
            base_url=site.url, api_key=site.key, max_retries=2
        ) as client,
        pytest.raises(anthropic.InternalServerError) as raised,
    ):
        ask(
            client,
            "worker/fault-401",
            extra_body={"conductor": {"workers": ["fault-401"]}},
        )
    assert raised.value.type == "api_error"
    assert Run.objects.for_team(site.cast.team.id).count() == 1


def test_passing_failure_is_retried_by_the_package(site: Site) -> None:
    site.add_worker("fault-500")
    with (
        anthropic.Anthropic(
            base_url=site.url, api_key=site.key, max_retries=1
        ) as client,
        pytest.raises(anthropic.InternalServerError),
    ):
        ask(
            client,
            "worker/fault-500",
            extra_body={"conductor": {"workers": ["fault-500"]}},
        )
    assert Run.objects.for_team(site.cast.team.id).count() == 2


def test_failed_stream_raises(client: anthropic.Anthropic, site: Site) -> None:
    site.add_worker("cut-3")
    kinds = []
    with (
        pytest.raises(anthropic.APIStatusError) as raised,
        client.messages.stream(
            model="worker/cut-3",
            max_tokens=1000,
            messages=[QUESTION],
            extra_body={"conductor": {"workers": ["cut-3"]}},
        ) as stream,
    ):
        for event in stream:
            kinds.append(event.type)
    assert raised.value.type == "api_error"
    assert "message_stop" not in kinds


def test_rescue_in_mid_stream_is_not_noticed(
    client: anthropic.Anthropic, site: Site
) -> None:
    site.add_worker("cut-3")
    Worker.objects.for_team(site.cast.team.id).update(accepts_prefill=True)
    site.set_conductor("scripted-conductor")
    question = planned([1, 1, 2])
    with client.messages.stream(
        model="conductor-ultra",
        max_tokens=1000,
        messages=[{"role": "user", "content": question}],
    ) as stream:
        message = stream.get_final_message()
    run = Run.objects.for_team(site.cast.team.id).get()
    assert message.stop_reason == "end_turn"
    assert "part 2" in said(message)
    steps = Step.objects.for_team(run.team_id).order_by("index")
    assert [step.attempts for step in steps] == [1, 1, 2]


def _marked(question: MessageParam) -> Any:
    mark = {"type": "ephemeral"}
    return {"type": "text", "text": question["content"], "cache_control": mark}


def _results(asked: Message, content: str) -> Any:
    results: list[ToolResultBlockParam] = [
        {"type": "tool_result", "tool_use_id": block.id, "content": content}
        for block in asked.content
        if isinstance(block, ToolUseBlock)
    ]
    return {"role": "user", "content": results}
