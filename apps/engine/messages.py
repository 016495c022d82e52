"""Chat messages as values: their text, images and weight, and how they are kept.

`question_of` is the rule by which a conversation becomes the one question of a run, a
public contract (docs/api.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import orjson

from apps.engine.ports import ImagePart, Message, Messages
from apps.engine.usage import estimate_tokens

IMAGE_TOKENS = 1_000
"""What an image is taken to weigh; providers count 85 to 1,600 for one."""
LABELS = {"user": "User: ", "assistant": "Assistant: ", "tool": "Tool result: "}
BLOCK_END = "\n\n"


def text_of(message: Message) -> str:
    """Return the text of a message, its parts joined; images are left out."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def images_of(messages: Iterable[Message]) -> tuple[ImagePart, ...]:
    """Return all images, in order."""
    return tuple(
        part
        for message in messages
        if not isinstance(message["content"], str)
        for part in message["content"]
        if part["type"] == "image_url"
    )


def has_images(messages: Iterable[Message]) -> bool:
    """Say whether any message holds an image."""
    return any(
        part["type"] == "image_url"
        for message in messages
        if not isinstance(message["content"], str)
        for part in message["content"]
    )


def estimate_input(messages: Messages) -> int:
    """Estimate how many input tokens `messages` will be."""
    calls = [
        call["function"]["arguments"] + call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls", ())
    ]
    texts = estimate_tokens(*map(text_of, messages), *calls)
    return texts + IMAGE_TOKENS * len(images_of(messages))


def estimate_tools(tools: Sequence[Mapping[str, Any]]) -> int:
    """Estimate how many input tokens the definitions of `tools` will be."""
    return estimate_tokens(orjson.dumps(tools).decode()) if tools else 0


def ends_in_beginning(messages: Messages) -> bool:
    """Say whether a conversation ends in the beginning of an answer: a prefill."""
    if not messages or messages[-1]["role"] != "assistant":
        return False
    return not messages[-1].get("tool_calls")


def without_beginning(messages: Messages) -> Messages:
    """Return a conversation without the beginning of an answer at its end."""
    return messages[:-1] if ends_in_beginning(messages) else messages


def question_of(messages: Sequence[Message]) -> str:
    """Return the complete user question that stands for a conversation.

    - System messages come first, in their order, without a label.
    - One turn after them: its text follows without a label.
    - Several turns: each follows in its order as `User: …`, `Assistant: …`,
      `Assistant calls a tool: name(arguments)` or `Tool result: …`.
    - An image is `[image 1]`, `[image 2]`, … where it stands; workers get it as well.
    - Blocks are separated by one blank line.
    """
    numbers = count(1)
    system = [m for m in messages if m["role"] == "system"]
    turns = [m for m in messages if m["role"] != "system"]
    written = {id(m): _written(m, numbers) for m in messages}
    blocks = [written[id(m)] for m in system]
    if len(turns) == 1:
        blocks.append(written[id(turns[0])])
    else:
        for turn in turns:
            text = written[id(turn)]
            blocks += [LABELS[turn["role"]] + text] if text else []
            blocks += _calls(turn)
    return BLOCK_END.join(block for block in blocks if block)


def system_of(messages: Iterable[Message]) -> str:
    """Return the system prompt of a conversation; empty: it has none."""
    texts = [text_of(each) for each in messages if each["role"] == "system"]
    return BLOCK_END.join(texts)


def asked_last(messages: Sequence[Message], prompt: str) -> str:
    """Return what the user wrote last in a conversation, or `prompt` without one.

    An image is `[image 1]` where it stands.
    """
    asked = (question_of([m]) for m in reversed(messages) if m["role"] == "user")
    return next(filter(None, asked), prompt)


def typed_last(messages: Sequence[Message], prompt: str, attached: int) -> str:
    """Return what a person typed last, without the files and images after it.

    `attached`: how many parts of the message those are.
    """
    asked = [each for each in messages if each["role"] == "user"]
    content = asked[-1]["content"] if asked else ""
    if not attached or isinstance(content, str):
        return asked_last(messages, prompt)
    typed = Message(role="user", content=content[: len(content) - attached][-1:])
    return text_of(typed).removesuffix(BLOCK_END)


def messages_json(messages: Messages) -> str:
    """Return `messages` as a JSON array, the way calls are recorded.

    An image that is part of its URL is named by the URL's digest: the run's first entry
    has it whole.
    """
    if not has_images(messages):
        return orjson.dumps(messages).decode()
    return orjson.dumps([_without_images(m) for m in messages]).decode()


def image_digest(url: str) -> str:
    """Return what stands for a `data:` URL in the record of a call."""
    return "sha256:" + hashlib.sha256(url.encode()).hexdigest()


def _written(message: Message, numbers: Iterator[int]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    written, is_after_image = "", False
    for part in content:
        # What stands next to an image need not be glued to it.
        if part["type"] == "text":
            piece = part["text"]
            is_glued = is_after_image and piece[:1].isalnum()
        else:
            piece = f"[image {next(numbers)}]"
            is_glued = bool(written) and not written[-1].isspace()
        written += f" {piece}" if is_glued else piece
        is_after_image = part["type"] != "text"
    return written


def _calls(message: Message) -> list[str]:
    return [
        f"Assistant calls a tool: {call['function']['name']}"
        f"({call['function']['arguments']})"
        for call in message.get("tool_calls", ())
    ]


def _without_images(message: Message) -> Message:
    content = message["content"]
    if isinstance(content, str):
        return message
    parts = [_digested(p) if p["type"] == "image_url" else p for p in content]
    return {**message, "content": parts}


def _digested(part: ImagePart) -> ImagePart:
    url = part["image_url"]["url"]
    if not url.startswith("data:"):
        return part
    return {"type": "image_url", "image_url": {"url": image_digest(url)}}
