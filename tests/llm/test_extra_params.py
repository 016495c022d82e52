"""D4: how each protocol words the parameters that not every model takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from apps.llm.protocols.registry import extra_params_of, protocol_of
from apps.llm.types import ChatRequest, Endpoint, Protocol

USER = {"role": "user", "content": "Hi"}
MARK = {"type": "ephemeral"}
MARKED = {
    "role": "user",
    "content": [{"type": "text", "text": "Long. ", "cache_control": MARK}],
}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "rain"}
TOOL = {"type": "function", "function": {"name": "f"}}
OLDER, NEWER, NEWEST = "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7"


def endpoint(protocol: Protocol, model: str = "m", **fields: Any) -> Endpoint:
    return Endpoint("w", "https://h/v1", model, protocol=protocol, **fields)


def body(where: Endpoint, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    request = ChatRequest(messages or (USER,), **fields)
    raw = protocol_of(where).request_body(where, request, is_stream=False)
    said: dict[str, Any] = orjson.loads(raw)
    return said


def claude(model: str, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return body(endpoint("anthropic", model), *messages, **fields)


def gemini(model: str, **extra: Any) -> dict[str, Any]:
    said = body(endpoint("gemini", model), extra=extra)
    config: dict[str, Any] = said.get("generationConfig", {})
    return config


# --- OpenAI-compatible ---------------------------------------------------------------


def test_the_openai_protocol_sends_them_as_they_are():
    extra = {
        "reasoning_effort": "low",
        "logit_bias": {"5": 1},
        "thinking": {"type": "enabled", "budget_tokens": 9},
    }
    assert extra.items() <= body(endpoint("openai"), extra=extra).items()
    assert extra_params_of(endpoint("openai")) is None


def test_cache_marks_of_the_openai_protocol_stand_on_the_parts_alone():
    said = body(endpoint("openai"), MARKED, extra={"cache_control": True})
    assert "cache_control" not in said
    assert said["messages"] == [MARKED]
    assert body(endpoint("openai"), extra={"cache_control": MARK})["cache_control"]


# --- what an endpoint has of its own -------------------------------------------------


def test_a_request_counts_more_than_the_endpoints_own_parameters():
    own = {"reasoning_effort": "low", "top_k": 5}
    where = endpoint("openai", default_params=own)
    assert own.items() <= body(where).items()
    said = body(where, extra={"reasoning_effort": "high"})
    assert (said["reasoning_effort"], said["top_k"]) == ("high", 5)


def test_a_request_that_says_how_to_think_replaces_both_of_the_endpoints_ways():
    own = {
        "reasoning_effort": "low",
        "thinking": {"type": "enabled", "budget_tokens": 2000},
    }
    said = body(
        endpoint("openai", default_params=own), extra={"reasoning_effort": "high"}
    )
    assert (said["reasoning_effort"], "thinking" in said) == ("high", False)


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "gemini"])
def test_an_extra_body_goes_along_and_takes_the_place_of_nothing(protocol: Protocol):
    own = {"x": 1, "temperature": 0, "generationConfig": {"a": 1, "temperature": 0}}
    said = body(endpoint(protocol, extra_body=own), temperature=0.5)
    assert said["x"] == 1
    if protocol == "gemini":
        assert said["generationConfig"] == {"a": 1, "temperature": 0.5}
    else:
        assert said["temperature"] == 0.5


# --- Anthropic -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "extra", "said"),
    [
        (
            OLDER,
            {"reasoning_effort": "high"},
            {
                "thinking": {"type": "enabled", "budget_tokens": 16_384},
                "max_tokens": 16_384 + 4096,
            },
        ),
        (OLDER, {"reasoning_effort": "none"}, {"max_tokens": 4096}),
        (
            OLDER,
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
        ),
        (
            NEWER,
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
        ),
        (
            NEWER,
            {"reasoning_effort": "xhigh"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
        ),
        (
            NEWEST,
            {"reasoning_effort": "xhigh"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}},
        ),
        (
            NEWEST,
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
            {"thinking": {"type": "adaptive"}},
        ),
        (
            NEWEST,
            {"thinking": {"type": "disabled"}, "reasoning_effort": "low"},
            {"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}},
        ),
        ("claude-3-5-haiku-20241022", {"reasoning_effort": "high"}, {}),
        (OLDER, {"top_k": 5}, {"top_k": 5}),
        (NEWEST, {"top_k": 5}, {}),
        (OLDER, {"service_tier": "default"}, {"service_tier": "standard_only"}),
        (OLDER, {"service_tier": "flex"}, {}),
        (OLDER, {"safety_identifier": "u1"}, {"metadata": {"user_id": "u1"}}),
        (OLDER, {"cache_control": MARK}, {"cache_control": MARK}),
        (OLDER, {"logit_bias": {"5": 1}, "verbosity": "low"}, {}),
    ],
)
def test_a_claude_is_told_in_the_words_of_its_version(model, extra, said):
    plain, got = claude(model), claude(model, extra=extra)
    assert said.items() <= got.items()
    assert got.keys() - plain.keys() == said.keys() - plain.keys()


def test_a_claude_that_thinks_is_not_told_how_to_sample():
    extra = {"reasoning_effort": "low", "top_k": 5}
    said = claude(OLDER, extra=extra, temperature=0.5)
    assert not {"temperature", "top_k"} & said.keys()


def test_thoughts_leave_room_for_the_answer():
    said = claude(OLDER, extra={"reasoning_effort": "high"}, max_tokens=4000)
    assert (said["thinking"]["budget_tokens"], said["max_tokens"]) == (3200, 4000)
    short = claude(OLDER, extra={"reasoning_effort": "high"}, max_tokens=1000)
    assert "thinking" not in short


@pytest.mark.parametrize(
    ("messages", "fields"),
    [
        ((USER, ASKED, RESULT), {"tools": (TOOL,)}),
        ((USER,), {"tools": (TOOL,), "tool_choice": "required"}),
        ((USER, {"role": "assistant", "content": "He"}), {"is_continued": True}),
    ],
)
def test_no_budget_where_the_protocol_refuses_one(messages, fields):
    said = claude(OLDER, *messages, extra={"reasoning_effort": "low"}, **fields)
    assert "thinking" not in said


def test_a_claude_that_adapts_thinks_after_tools_too():
    extra = {"reasoning_effort": "low"}
    said = claude(NEWEST, USER, ASKED, RESULT, tools=(TOOL,), extra=extra)
    assert said["thinking"] == {"type": "adaptive"}


def test_cache_marks_stand_on_blocks_and_system_messages():
    system = {**MARKED, "role": "system"}
    said = claude(OLDER, system, MARKED, extra={"cache_control": True})
    block = {"type": "text", "text": "Long. ", "cache_control": MARK}
    assert said["system"] == [block]
    assert said["messages"][0]["content"] == [block]
    assert "cache_control" not in said


def test_what_a_claude_takes_depends_on_its_version():
    taken = {
        model: extra_params_of(endpoint("anthropic", model)) or frozenset()
        for model in (OLDER, NEWEST, "claude-3-5-haiku", "other")
    }
    assert "top_k" not in taken[NEWEST]
    assert "reasoning_effort" not in taken["claude-3-5-haiku"]
    assert {"top_k", "thinking", "reasoning_effort"} <= taken[OLDER] & taken["other"]
    assert "logit_bias" not in taken[OLDER]


# --- Gemini --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "extra", "thinking"),
    [
        ("gemini-2.5-pro", {"reasoning_effort": "medium"}, {"thinkingBudget": 8192}),
        ("gemini-2.5-flash", {"reasoning_effort": "none"}, {"thinkingBudget": 0}),
        ("gemini-2.5-flash", {"thinking": {"type": "disabled"}}, {"thinkingBudget": 0}),
        (
            "gemini-2.5-flash",
            {"thinking": {"type": "adaptive"}},
            {"thinkingBudget": -1},
        ),
        (
            "gemini-3-pro-preview",
            {"thinking": {"type": "enabled", "budget_tokens": 99}},
            {"thinkingBudget": 99},
        ),
        ("gemini-3-flash", {"reasoning_effort": "medium"}, {"thinkingLevel": "medium"}),
        ("gemini-3-pro", {"reasoning_effort": "medium"}, {"thinkingLevel": "high"}),
        ("gemini-3-pro", {"reasoning_effort": "none"}, {"thinkingLevel": "low"}),
        ("gemini-flash-latest", {"reasoning_effort": "low"}, {"thinkingLevel": "low"}),
        ("gemini-3-pro", {"thinking": {"type": "adaptive"}}, None),
        ("gemini-1.5-pro", {"reasoning_effort": "low"}, None),
        ("gemma-3-27b", {"reasoning_effort": "low"}, None),
    ],
)
def test_a_gemini_is_told_in_the_words_of_its_version(model, extra, thinking):
    assert gemini(model, **extra).get("thinkingConfig") == thinking


def test_sampling_goes_into_geminis_configuration():
    extra = {"top_k": 5, "frequency_penalty": 0.5, "presence_penalty": -1.0}
    said = {"topK": 5, "frequencyPenalty": 0.5, "presencePenalty": -1.0}
    assert gemini("gemini-2.0-flash", **extra) == said
    assert gemini("gemini-2.0-flash", top_k=-1) == {}
    taken = extra_params_of(endpoint("gemini", "gemini-2.0-flash"))
    assert taken == frozenset(extra)


def test_requests_without_extra_parameters_are_as_before():
    for protocol in ("openai", "anthropic", "gemini"):
        where = endpoint(protocol)
        assert body(where) == body(replace(where, default_params={}), extra={})
