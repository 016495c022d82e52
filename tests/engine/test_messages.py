"""Conversations as values: the question they make, what they weigh, their record."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine.messages import (
    IMAGE_TOKENS,
    estimate_input,
    estimate_tools,
    has_images,
    image_digest,
    images_of,
    messages_json,
    question_of,
    text_of,
)
from apps.engine.ports import ImagePart, Message, Messages, ToolCallPart

DATA_URL = "data:image/png;base64,iVBORw0KGgo="
CALL: ToolCallPart = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "add", "arguments": '{"a": 1}'},
}


def said(role: Any, content: Any, **more: Any) -> Message:
    message: Any = {"role": role, "content": content, **more}
    made: Message = message
    return made


def image(url: str = DATA_URL) -> ImagePart:
    return {"type": "image_url", "image_url": {"url": url}}


def parts(*given_parts: Any) -> Message:
    texts = [
        {"type": "text", "text": p} if isinstance(p, str) else p for p in given_parts
    ]
    return said("user", texts)


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        ([said("user", "Why?")], "Why?"),
        ([said("system", "Be brief."), said("user", "Why?")], "Be brief.\n\nWhy?"),
        (
            [said("user", "a"), said("assistant", "b"), said("user", "c")],
            "User: a\n\nAssistant: b\n\nUser: c",
        ),
        (
            [said("user", "a"), said("system", "s"), said("assistant", "b")],
            "s\n\nUser: a\n\nAssistant: b",
        ),
        (
            [
                said("user", "1 + 1?"),
                said("assistant", "", tool_calls=[CALL]),
                said("tool", "2", tool_call_id="call_1"),
            ],
            'User: 1 + 1?\n\nAssistant calls a tool: add({"a": 1})\n\nTool result: 2',
        ),
        ([parts("Look: ", image(), " and ", image())], "Look: [image 1] and [image 2]"),
        ([], ""),
    ],
)
def test_a_conversation_makes_one_question(messages, question):
    assert question_of(messages) == question


def test_images_are_counted_through_the_whole_conversation():
    messages = [parts(image()), said("assistant", "a"), parts(image(), "?")]
    assert (
        question_of(messages) == "User: [image 1]\n\nAssistant: a\n\nUser: [image 2]?"
    )


def test_text_and_images_of_a_message_are_told_apart():
    message = parts("a", image("https://example.org/1"), "b")
    assert text_of(message) == "ab"
    assert [p["image_url"]["url"] for p in images_of([message])] == [
        "https://example.org/1"
    ]


@pytest.mark.parametrize(
    ("messages", "has"),
    [
        ([], False),
        ([said("user", "a")], False),
        ([parts("a")], False),
        ([said("user", "a"), parts("b", image())], True),
    ],
)
def test_images_are_noticed(messages, has):
    assert has_images(messages) is has
    assert bool(images_of(messages)) is has


def test_an_image_weighs_the_same_however_it_is_sent():
    small, large = parts("a", image("https://e.org")), parts("a", image("x" * 99_999))
    assert estimate_input((small,)) == estimate_input((large,))
    assert estimate_input((small,)) - estimate_input((parts("a"),)) == IMAGE_TOKENS


def test_calls_of_tools_weigh_something():
    without = (said("assistant", "a"),)
    assert estimate_input((said("assistant", "a", tool_calls=[CALL]),)) > (
        estimate_input(without)
    )


def test_definitions_of_tools_weigh_something():
    assert estimate_tools(()) == 0
    assert estimate_tools([{"type": "function", "function": {"name": "a" * 300}}]) > 100


def test_the_record_of_a_call_names_data_by_its_digest():
    messages: Messages = (parts("a", image(), image("https://example.org/1")),)
    recorded = json.loads(messages_json(messages))
    urls = [p["image_url"]["url"] for p in recorded[0]["content"][1:]]
    assert urls == [image_digest(DATA_URL), "https://example.org/1"]
    assert messages[0]["content"][1] == image(), "the message itself is left alone"


turns = st.builds(
    said, st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=9)
)


@given(st.lists(turns, max_size=6).map(tuple))
def test_the_record_of_a_call_without_images_is_the_call(messages):
    assert json.loads(messages_json(messages)) == list(messages)


@given(st.lists(turns, max_size=6))
def test_no_text_is_lost_in_the_question(messages):
    question = question_of(messages)
    assert all(m["content"] in question for m in messages)
