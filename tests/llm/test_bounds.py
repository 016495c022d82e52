"""T1, T10: what JSON of a provider is read, whatever is in it."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.bounds import MAX_DEPTH, MAX_VALUES, Unreadable, load_json
from apps.llm.errors import LlmError
from apps.llm.protocols.registry import PROTOCOLS
from apps.llm.types import Endpoint

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**60) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
KEYS = st.sampled_from(
    [
        *("choices", "delta", "message", "content", "tool_calls", "function", "index"),
        *("arguments", "finish_reason", "usage", "model", "type", "error", "refusal"),
        *("content_block", "input", "text", "thinking", "stop_reason", "partial_json"),
        *("candidates", "parts", "functionCall", "args", "finishReason", "name", "id"),
        *("usageMetadata", "promptFeedback", "blockReason", "data", "models"),
        *("supportedGenerationMethods", "details", "code", "status"),
    ]
)
WORDS = st.sampled_from(
    [
        *("message_start", "content_block_start", "content_block_delta", "tool_use"),
        *("content_block_stop", "message_delta", "stop", "STOP", "end_turn", "error"),
    ]
)
ANSWERS = st.dictionaries(
    KEYS,
    st.recursive(
        st.none() | st.integers() | st.text() | WORDS,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6)
        ),
    ),
)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_deepest_nesting_is_read():
    assert load_json(nested(MAX_DEPTH)) == orjson.loads(nested(MAX_DEPTH))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 300, 500, 100_000])
def test_deeper_nesting_is_refused(depth: int):
    with pytest.raises(Unreadable, match=r"nested deeper|values"):
        load_json(nested(depth))


@pytest.mark.parametrize("text", ["[" * 300, '"{' * 300, "\\[" * 300, '\\"[\\\\' * 300])
def test_brackets_inside_of_texts_are_no_nesting(text: str):
    assert load_json(orjson.dumps([text])) == [text]


def test_flat_lists_of_objects_are_no_nesting():
    rows: list[Any] = [{"a": [{}]}] * 1000
    assert load_json(orjson.dumps(rows)) == rows


def test_most_values_are_read_and_more_are_refused():
    assert len(load_json(orjson.dumps([0] * MAX_VALUES))) == MAX_VALUES
    with pytest.raises(Unreadable, match="values"):
        load_json(orjson.dumps([0] * (MAX_VALUES + 2)))


def test_text_full_of_commas_is_one_value():
    text = ",[{" * 100_000
    assert load_json(orjson.dumps([text])) == [text]


@pytest.mark.parametrize("payload", [b"", b"{", b"nonsense", b"\xff", b'"\\ud800"'])
def test_what_is_no_json_is_refused(payload: bytes):
    with pytest.raises(Unreadable, match="not JSON"):
        load_json(payload)


@given(VALUES)
def test_all_other_json_is_read_as_it_is(value: Any):
    payload = orjson.dumps(value)
    assert load_json(payload) == orjson.loads(payload)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(events=st.lists(ANSWERS, max_size=4))
def test_reader_of_any_json_fails_by_name_or_not_at_all(protocol, events):
    """T10: no value in a wrong place is a crash."""
    endpoint = Endpoint("w", "http://h", "m", protocol=protocol)
    reader = PROTOCOLS[protocol].reader(endpoint)
    try:
        for event in events:
            reader.read(json.dumps(event).encode())
        reader.end(None)
    except LlmError:
        return


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(answer=ANSWERS)
def test_answer_of_any_json_fails_by_name_or_not_at_all(protocol, answer):
    """T10: no value in a wrong place is a crash."""
    endpoint = Endpoint("w", "http://h", "m", protocol=protocol)
    PROTOCOLS[protocol].model_names(answer)
    try:
        PROTOCOLS[protocol].read_answer(endpoint, json.dumps(answer).encode())
    except LlmError:
        return
