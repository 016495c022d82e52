"""Bodies that are JSON for one reader and something else for another."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import InvalidInput
from apps.gateway.parsing.json_body import MAX_VALUES, SMALL_BYTES, parse_object
from tests.gateway.conftest import CHAT, Client, chat_body

WORDS = st.text(st.sampled_from('a:"\\{}[],'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=4)


@given(OBJECTS, st.booleans())
def test_every_honest_object_is_read_as_it_is(
    value: dict[str, object], is_ascii: bool
) -> None:
    raw = json.dumps(value, ensure_ascii=is_ascii, indent=1).encode()
    assert parse_object(raw) == value


@given(OBJECTS, WORDS, VALUES, VALUES)
def test_a_name_given_twice_is_never_read(
    outer: dict[str, object], name: str, first: object, second: object
) -> None:
    pair = [f"{json.dumps(name)} : {json.dumps(value)}" for value in (first, second)]
    inner = "{" + ", ".join(pair) + "}"
    raw = json.dumps({**outer, "here": "HOLE"}).replace('"HOLE"', inner).encode()
    with pytest.raises(InvalidInput, match="is there twice"):
        parse_object(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"model": "a", "model": "b"}',
        b'{"model": "a", "mod\\u0065l": "b"}',
        b'{"a": {"x": 1, "x" :1}}',
        b'{"a": [1, {"x": 1, "y": [], "x": "\\u003a"}]}',
        b'{"a": "\\u003A", "a": 1}',
        b'{"": 1, "": 1}',
    ],
)
def test_hidden_repetition_is_found(raw: bytes) -> None:
    with pytest.raises(InvalidInput, match="is there twice"):
        parse_object(raw)


def test_repetition_is_found_in_large_bodies() -> None:
    raw = b'{"a": 1, "text": "' + b"x" * SMALL_BYTES + b'", "a": 2}'
    with pytest.raises(InvalidInput, match="names a field twice"):
        parse_object(raw)


def test_escaped_colons_are_read() -> None:
    assert parse_object(b'{"a\\u003a": "\\u003A:"}') == {"a:": "::"}


async def test_repetition_is_answered_in_shape(client: Client) -> None:
    body = orjson.dumps(chat_body())[:-1] + b',"model":"conductor-ultra"}'
    answer = await client.ask("POST", CHAT, body)
    assert (answer.status, answer.error["param"]) == (400, None)
    assert "'model' is there twice" in answer.error["message"]
    assert client.backend.orders == []


@pytest.mark.parametrize(
    "crowd",
    [b"[]," * 500_000, b'{"a":1},' * 200_000, b"1," * 1_000_000, b"[" * 1_000_000],
    ids=["lists", "objects", "numbers", "depth"],
)
async def test_crowded_body_is_refused_unread(client: Client, crowd: bytes) -> None:
    body = orjson.dumps(chat_body())[:-1] + b',"x":[' + crowd + b"0]}"
    answer = await client.ask("POST", CHAT, body)
    assert answer.status == 400
    assert "values" in answer.error["message"]


@pytest.mark.parametrize("text", ["7,", '"[\\", ', "\\\\,\\", "{"])
def test_marks_inside_of_a_megabyte_of_text_are_no_crowd(text: str) -> None:
    text *= 1_000_000 // len(text)
    assert parse_object(orjson.dumps({"text": text, "more": [1]}))["text"] == text


@pytest.mark.parametrize("crowd", [b'"",', b'"a\\\\",', b'"\\"",1,'])
def test_crowd_cannot_hide_behind_quotes(crowd: bytes) -> None:
    raw = b'{"x":[' + crowd * (2 * MAX_VALUES) + b"0]}"
    with pytest.raises(InvalidInput, match="more than 150000 values"):
        parse_object(raw)
