"""D4: parameters that not every model takes are checked, carried, and never lost
without a word.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.gateway.conftest import Client
from tests.gateway.fakes import completed

GOOD: dict[str, Any] = {
    "cache_control": {"type": "ephemeral", "ttl": "1h"},
    "chat_template_kwargs": {"enable_thinking": False},
    "frequency_penalty": -0.5,
    "logit_bias": {"1234": -100, "7": 3.5},
    "min_p": 0.05,
    "presence_penalty": 2,
    "prompt_cache_key": "team-7",
    "prompt_cache_retention": "24h",
    "reasoning_effort": "low",
    "repetition_penalty": 1.1,
    "safety_identifier": "user-5",
    "service_tier": "flex",
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "top_k": 40,
    "verbosity": "high",
}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"cache_control": {"type": "forever"}}, "cache_control.type"),
    ({"cache_control": {"type": "ephemeral", "ttl": "2h"}}, "cache_control.ttl"),
    ({"chat_template_kwargs": []}, "chat_template_kwargs"),
    ({"chat_template_kwargs": {"a": "x" * 16_000}}, "chat_template_kwargs"),
    ({"frequency_penalty": 2.5}, "frequency_penalty"),
    ({"frequency_penalty": "1"}, "frequency_penalty"),
    ({"logit_bias": {"1234": 101}}, "logit_bias.1234"),
    ({"logit_bias": {"1234": True}}, "logit_bias.1234"),
    ({"logit_bias": {"word": 1}}, "logit_bias"),
    ({"logit_bias": {str(n): 1 for n in range(2_001)}}, "logit_bias"),
    ({"min_p": 1.5}, "min_p"),
    ({"presence_penalty": True}, "presence_penalty"),
    ({"prompt_cache_key": ""}, "prompt_cache_key"),
    ({"prompt_cache_key": "x" * 257}, "prompt_cache_key"),
    ({"prompt_cache_retention": "1y"}, "prompt_cache_retention"),
    ({"reasoning_effort": "extreme"}, "reasoning_effort"),
    ({"reasoning_effort": 3}, "reasoning_effort"),
    ({"repetition_penalty": -1}, "repetition_penalty"),
    ({"safety_identifier": "a\nb"}, "safety_identifier"),
    ({"service_tier": "gold"}, "service_tier"),
    ({"thinking": {"type": "enabled", "budget_tokens": 0}}, "thinking.budget_tokens"),
    ({"thinking": {"type": "adaptive", "budget_tokens": 9}}, "thinking.budget_tokens"),
    ({"thinking": {"budget_tokens": 9}}, "thinking.type"),
    ({"thinking": True}, "thinking"),
    ({"top_k": 1.5}, "top_k"),
    ({"top_k": -2}, "top_k"),
    ({"verbosity": "loud"}, "verbosity"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"modalities": "text"}, "modalities"),
    ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
    ({"web_search_options": {}}, "web_search_options"),
]


async def test_every_extra_parameter_is_carried_to_the_run(client: Client) -> None:
    client.run.plays(completed())
    answer = await client.chat(**GOOD)
    assert answer.status == 200, answer.body
    (order,) = client.backend.orders
    assert order.params.extra == GOOD
    assert order.ignored == ""


async def test_a_request_without_them_carries_nothing(client: Client) -> None:
    client.run.plays(completed())
    await client.chat(temperature=0.5, top_k=None, modalities=["text"])
    (order,) = client.backend.orders
    assert order.params.extra is None
    assert order.ignored == ""


@pytest.mark.parametrize(("fields", "param"), BAD, ids=[param for _, param in BAD])
async def test_wrong_values_are_refused(
    client: Client, fields: dict[str, Any], param: str
) -> None:
    answer = await client.chat(**fields)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert client.backend.orders == []


async def test_cache_marks_on_parts_stay_where_they_are(client: Client) -> None:
    mark = {"type": "ephemeral"}
    content = [
        {"type": "text", "text": "A long text. ", "cache_control": mark},
        {"type": "text", "text": "What of it?"},
    ]
    client.run.plays(completed())
    await client.chat(messages=[{"role": "user", "content": content}])
    (order,) = client.backend.orders
    assert order.prompt == "A long text. What of it?"
    assert order.messages == ({"role": "user", "content": content},)
    assert order.params.extra == {"cache_control": True}


async def test_a_wrong_cache_mark_on_a_part_is_refused(client: Client) -> None:
    part = {"type": "text", "text": "Hi", "cache_control": {"type": "x"}}
    answer = await client.chat(messages=[{"role": "user", "content": [part]}])
    place = "messages[0].content[0].cache_control.type"
    assert (answer.status, answer.error["param"]) == (400, place)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_the_answer_names_what_had_no_effect(
    client: Client, is_streamed: bool
) -> None:
    client.run.plays(completed()).ignored = "store,top_k"
    answer = await client.chat(store=True, top_k=5, stream=is_streamed)
    assert answer.headers["x-conductor-ignored"] == "store,top_k"


async def test_no_header_where_everything_had_an_effect(client: Client) -> None:
    client.run.plays(completed())
    assert "x-conductor-ignored" not in (await client.chat()).headers


async def test_responses_say_it_in_their_own_words(client: Client) -> None:

    body = {
        "model": "conductor-mini",
        "input": "Hi",
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {"verbosity": "low"},
        "service_tier": "auto",
        "prompt_cache_key": "k",
    }
    client.run.plays(completed())
    await client.ask("POST", "/v1/responses", orjson.dumps(body))
    (order,) = client.backend.orders
    assert order.params.extra == {
        "reasoning_effort": "high",
        "verbosity": "low",
        "service_tier": "auto",
        "prompt_cache_key": "k",
    }
    assert order.ignored == ""


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"reasoning": {"effort": "extreme"}}, "reasoning.effort"),
        ({"text": {"verbosity": 1}}, "text.verbosity"),
        ({"service_tier": "gold"}, "service_tier"),
    ],
)
async def test_wrong_values_in_responses_are_refused(
    client: Client, fields: dict[str, Any], param: str
) -> None:

    body = orjson.dumps({"model": "conductor-mini", "input": "Hi", **fields})
    answer = await client.ask("POST", "/v1/responses", body)
    assert (answer.status, answer.error["param"]) == (400, param)
