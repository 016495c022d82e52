"""Reads the blocks of a message's content into the engine's parts.

Texts of one message are separated by a blank line, as blocks of a prompt are. What
holds a file that we do not have is refused; what the sender's own provider did with
tools of its own is left out, because no other model can make anything of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apps.core.errors import InvalidInput
from apps.engine.extra_params import CACHE_CONTROL
from apps.engine.messages import BLOCK_END
from apps.engine.ports import ImagePart, TextPart
from apps.gateway.parsing.extra_params import read_cache_control
from apps.gateway.parsing.images import read_image
from apps.gateway.parsing.json_fields import read_object, read_text, type_error
from apps.gateway.parsing.messages import joined

Part = TextPart | ImagePart
Content = str | list[Part]
Block = Mapping[str, Any]
MAX_TYPE = 64
"""Characters of a block's type that a message repeats."""
NO_FILES = "files are not kept here; send the content itself"


def block_list(content: Any, where: str) -> list[Block]:
    """Return content as blocks; a text is one of them. Raises: InvalidInput."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise type_error(where, "a text or a list of blocks", content)
    for index, block in enumerate(content):
        place = f"{where}[{index}]"
        if not isinstance(block, dict):
            raise type_error(place, "an object", block)
        if not isinstance(block.get("type"), str):
            raise type_error(f"{place}.type", "a text", block.get("type"))
    return content


def read_parts(block: Block, where: str) -> list[Part]:
    """Return what a block of a question says or shows. Raises: InvalidInput."""
    reader = READERS.get(block["type"])
    if reader is None:
        kind = block["type"][:MAX_TYPE]
        raise InvalidInput(
            f"{where}.type: blocks of type {kind!r} are not supported here; "
            f"known are {', '.join(READERS)}",
            param=f"{where}.type",
        )
    return marked(reader(block, where), block, where)


def marked(parts: list[Part], block: Block, where: str) -> list[Part]:
    """Return the parts of a block with its mark for a provider's cache, if it has one.

    The mark stands at the end of what is to be cached. Raises: InvalidInput.
    """
    if block.get(CACHE_CONTROL) is not None:
        mark = read_cache_control(block, at=f"{where}.")
        if parts:
            parts[-1]["cache_control"] = mark
    return parts


def content_of(parts: Sequence[Part]) -> Content:
    """Return parts as content: one text, unless there are images or cache marks."""
    glued: list[Part] = []
    for part in parts:
        last = glued[-1] if glued else None
        if part["type"] == "text" and last is not None and last["type"] == "text":
            if CACHE_CONTROL not in last:
                glued[-1] = {**part, "text": last["text"] + BLOCK_END + part["text"]}
                continue
            part = {**part, "text": BLOCK_END + part["text"]}
        glued.append(part)
    return joined(glued)


def text_part(text: str) -> list[Part]:
    """Return a text as parts; none if it is empty."""
    return [{"type": "text", "text": text}] if text else []


def _read_text(block: Block, where: str) -> list[Part]:
    return text_part(read_text(block, "text", at=f"{where}."))


def _read_image(block: Block, where: str) -> list[Part]:
    source, at = _source(block, where)
    match source.get("type"):
        case "base64":
            kind = read_text(source, "media_type", at=f"{at}.")
            data = read_text(source, "data", at=f"{at}.")
            return [read_image(f"data:{kind};base64,{data}", None, f"{at}.data")]
        case "url":
            return [read_image(source.get("url"), None, f"{at}.url")]
        case "file":
            raise InvalidInput(f"{at}: {NO_FILES}", param=at)
    raise InvalidInput(f"{at}.type: expected base64 or url", param=f"{at}.type")


def _read_document(block: Block, where: str) -> list[Part]:
    source, at = _source(block, where)
    heads = [
        read_text(block, name, at=f"{where}.")
        for name in ("title", "context")
        if block.get(name) is not None
    ]
    head = [part for text in heads for part in text_part(text)]
    match source.get("type"):
        case "text":
            return head + text_part(read_text(source, "data", at=f"{at}."))
        case "content":
            return head + _read_inner(source.get("content"), f"{at}.content")
        case "base64" | "url":
            raise InvalidInput(
                f"{at}: PDF documents are not supported; send their text, as a source "
                "of type text",
                param=at,
            )
        case "file":
            raise InvalidInput(f"{at}: {NO_FILES}", param=at)
    raise InvalidInput(f"{at}.type: expected text or content", param=f"{at}.type")


def _read_search_result(block: Block, where: str) -> list[Part]:
    heads = [
        read_text(block, name, at=f"{where}.")
        for name in ("title", "source")
        if block.get(name) is not None
    ]
    head = [part for text in heads for part in text_part(text)]
    return head + _read_inner(block.get("content"), f"{where}.content")


def _read_inner(content: Any, where: str) -> list[Part]:
    parts: list[Part] = []
    for index, block in enumerate(block_list(content, where)):
        place = f"{where}[{index}]"
        if block["type"] not in ("text", "image"):
            raise InvalidInput(
                f"{place}.type: expected text or image", param=f"{place}.type"
            )
        parts += read_parts(block, place)
    return parts


def _source(block: Block, where: str) -> tuple[dict[str, Any], str]:
    at = f"{where}.source"
    source = read_object(block, "source", at=f"{where}.")
    if source is None:
        raise type_error(at, "an object", None)
    return source, at


READERS: dict[str, Callable[[Block, str], list[Part]]] = {
    "text": _read_text,
    "image": _read_image,
    "document": _read_document,
    "search_result": _read_search_result,
}
"""What a question, or a tool's result, may be made of."""
