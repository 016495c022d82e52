"""Messages as turns, for protocols that want a strict order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.errors import BadRequest
from apps.llm.protocols.conversation import (
    BEGINNING,
    Image,
    MessageTurn,
    ToolResult,
    ToolUse,
    WrittenText,
    read_conversation,
)

PNG = "data:image/PNG;base64,iVBORw0KGgo="


def message(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def call(id_: str, arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id_, "function": {"name": "f", "arguments": arguments}}


def result(id_: str, content: Any = "ok") -> dict[str, Any]:
    return message("tool", content, tool_call_id=id_)


def turns(*messages: dict[str, Any]) -> tuple[MessageTurn, ...]:
    return read_conversation(messages).turns


def test_system_messages_are_gathered():
    conversation = read_conversation(
        [
            message("system", "Be brief."),
            message("user", "Hi"),
            message("developer", [{"type": "text", "text": "Be kind."}]),
        ]
    )
    assert conversation.system == "Be brief.\n\nBe kind."
    assert conversation.turns == (MessageTurn("user", (WrittenText("Hi"),)),)


def test_system_message_alone_is_asked_by_the_user():
    conversation = read_conversation([message("system", "Say hi")])
    assert conversation.system == ""
    assert conversation.turns == (MessageTurn("user", (WrittenText("Say hi"),)),)


def test_messages_of_one_side_are_one_turn():
    assert turns(
        message("user", "a"), message("system", "s"), message("user", "b")
    ) == (MessageTurn("user", (WrittenText("a"), WrittenText("b"))),)


def test_first_turn_is_always_the_users():
    first, second = turns(message("assistant", "Hello"))
    assert first == MessageTurn("user", (WrittenText(BEGINNING),))
    assert second == MessageTurn("assistant", (WrittenText("Hello"),))


@pytest.mark.parametrize("nothing", ["", None, [], [{"type": "text", "text": ""}]])
def test_nothing_is_no_part(nothing: Any):
    assert turns(message("user", nothing), message("user", "a")) == (
        MessageTurn("user", (WrittenText("a"),)),
    )


def test_results_come_first_and_in_the_order_of_the_calls():
    asked = message("assistant", "", tool_calls=[call("x"), call("y")])
    _, calls, results = turns(
        message("user", "a"), asked, result("y"), message("user", "b"), result("x")
    )
    assert [part.id for part in calls.parts if isinstance(part, ToolUse)] == ["x", "y"]
    assert results.parts == (
        ToolResult("x", (WrittenText("ok"),)),
        ToolResult("y", (WrittenText("ok"),)),
        WrittenText("b"),
    )


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (None, {}),
        ("[1]", {"arguments": "[1]"}),
        ('{"a": ', {"arguments": '{"a": '}),
    ],
)
def test_arguments_are_an_object(arguments: Any, read: dict[str, Any]):
    asked = message("assistant", None, tool_calls=[call("x", arguments)])
    assert turns(message("user", "a"), asked)[1].parts == (ToolUse("x", "f", read),)


def test_image_is_bytes_or_an_address():
    parts = [
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": "https://h/a.png"}},
    ]
    assert turns(message("user", parts))[0].parts == (
        Image("image/png", "iVBORw0KGgo="),
        Image(url="https://h/a.png"),
    )


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (5, r"messages\[0\]\.content is neither"),
        ([5], r"messages\[0\]\.content\[0\] is neither"),
        ([{"type": "input_audio"}], r"content\[0\] is neither a text nor an image"),
        (
            [{"type": "text", "text": "a"}, {"type": "file"}],
            r"messages\[0\]\.content\[1\]",
        ),
        (
            [{"type": "image_url", "image_url": {"url": "data:image/png,abc"}}],
            "no base64 data: URL",
        ),
        ([{"type": "image_url", "image_url": {"url": "data:x"}}], "no base64"),
    ],
)
def test_what_cannot_be_read_is_named(content: Any, named: str):
    with pytest.raises(BadRequest, match=named):
        read_conversation([message("user", content)])


ROLES = st.sampled_from(["system", "user", "assistant"])


@given(st.lists(st.tuples(ROLES, st.sampled_from(["", "a", "b c"]))))
def test_turns_alternate_and_lose_no_word(said: list[tuple[str, str]]):
    conversation = read_conversation([message(*pair) for pair in said])
    roles = [turn.role for turn in conversation.turns]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    texts = [
        part.text
        for turn in conversation.turns
        for part in turn.parts
        if isinstance(part, WrittenText)
    ]
    kept = "".join([conversation.system, *texts]).replace(BEGINNING, "")
    spoken = sum(len(text) for _, text in said)
    assert len(kept.replace("\n\n", "")) == spoken
