"""Messages as servers of the chat completions protocol take them.

Images in the results of tools are refused there, so they follow in a message of the
user, right after the last result of the turn. Source: OpenAI API reference, "Create
chat completion": content of a tool message is text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SEEN_BELOW = "(The result is an image, which follows.)"
Part = Mapping[str, Any]


def sent_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of a request."""
    if not any(_pictures(message) for message in messages):
        return list(messages)
    sent: list[Mapping[str, Any]] = []
    waiting: list[Part] = []
    for message in messages:
        if message.get("role") != "tool" and waiting:
            sent.append({"role": "user", "content": waiting})
            waiting = []
        pictures = _pictures(message)
        sent.append(_without_pictures(message) if pictures else message)
        if pictures:
            call = message.get("tool_call_id", "")
            words = f"Images in the result of the tool call {call}:"
            waiting = [*waiting, {"type": "text", "text": words}, *pictures]
    if waiting:
        sent.append({"role": "user", "content": waiting})
    return sent


def _pictures(message: Mapping[str, Any]) -> list[Part]:
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, list):
        return []
    return [part for part in content if part["type"] == "image_url"]


def _without_pictures(message: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = [part for part in message["content"] if part["type"] == "text"]
    return {**message, "content": texts or SEEN_BELOW}
