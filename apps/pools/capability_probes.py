"""Finds out what a model can do, by one short question for each ability.

A refusal, or an answer that shows that it did not understand, means no. Whatever else
goes wrong says nothing about an ability, so nothing is said. Knows no database.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from apps.llm.chat import ChatClient
from apps.llm.errors import BadRequest, ContextTooLong, LlmError, NotFound
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish

MAX_ANSWER_TOKENS = 256
"""Room for a model that thinks before it says one word."""
IMAGE_PIXELS = 64
"""Height and width. Some models refuse images of a few pixels."""
REFUSALS = (BadRequest, NotFound, ContextTooLong)
"""Routers say with a 404 that no server of a model takes images."""
TOOL = "note_number"
PREFILL = "accepts_prefill"
"""The ability that a conductor needs whose reasoning is begun for it."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """A complete answer."""

    text: str
    tool_names: tuple[str, ...]
    arguments: str
    """Of all its tool calls, as they came."""
    finish_reason: str
    model: str
    """The model that answered, as the provider names it."""

    @property
    def is_blank(self) -> bool:
        """Say whether the model thought until it had to stop."""
        return self.finish_reason == "length" and not (self.text or self.tool_names)


@dataclass(frozen=True, slots=True)
class Probe:
    """A question, and how to tell by the answer that a model has an ability."""

    request: ChatRequest
    shows: Callable[[ProbeAnswer], bool]


async def abilities_shown(
    client: ChatClient, endpoint: Endpoint, wanted: Iterable[str]
) -> dict[str, bool]:
    """Return which of the `wanted` abilities (keys of `PROBES`) a model shows.

    What could not be found out is left out.
    """
    names = list(wanted)
    probes = [_shown(client, endpoint, PROBES[name]) for name in names]
    found = zip(names, await asyncio.gather(*probes), strict=True)
    return {name: shown for name, shown in found if shown is not None}


async def ask(
    client: ChatClient, endpoint: Endpoint, request: ChatRequest
) -> ProbeAnswer:
    """Return a model's whole answer, streamed as runs stream it. Raises: LlmError."""
    deltas: list[Delta] = []
    finish, model = "", ""
    async with aclosing(client.stream(endpoint, request)) as stream:
        async for item in stream:
            if isinstance(item, Finish):
                finish, model = item.finish_reason, item.model
            else:
                deltas.append(item)
    pieces = [piece for delta in deltas for piece in delta.tool_calls]
    return ProbeAnswer(
        text="".join(delta.text for delta in deltas),
        tool_names=tuple(piece.name for piece in pieces if piece.name),
        arguments="".join(piece.arguments for piece in pieces),
        finish_reason=finish,
        model=model,
    )


async def _shown(client: ChatClient, endpoint: Endpoint, probe: Probe) -> bool | None:
    try:
        answer = await ask(client, endpoint, probe.request)
    except REFUSALS:
        return False
    except LlmError:
        return None
    return None if answer.is_blank else probe.shows(answer)


def _png() -> str:
    """Return the address of an image that is red all over."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    # 8 bits a channel, RGB; each line begins with the number of its filter.
    header = struct.pack(">IIBBBBB", IMAGE_PIXELS, IMAGE_PIXELS, 8, 2, 0, 0, 0)
    lines = (b"\x00" + b"\xd0\x10\x10" * IMAGE_PIXELS) * IMAGE_PIXELS
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9))
    image = b"\x89PNG\r\n\x1a\n" + chunks + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(image).decode()


def _counts_one_image(answer: ProbeAnswer) -> bool:
    return bool(re.search(r"\b(?:1|one)\b", answer.text, re.IGNORECASE))


def _calls_the_tool(answer: ProbeAnswer) -> bool:
    try:
        arguments = json.loads(answer.arguments)
    except ValueError:
        return False
    return answer.tool_names == (TOOL,) and arguments == {"number": 42}


def _goes_on(answer: ProbeAnswer) -> bool:
    return answer.text.lstrip().startswith("DELTA")


_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
}
PROBES: Mapping[str, Probe] = {
    "accepts_images": Probe(
        ChatRequest(
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "text",
                            "text": "How many images are in this message? Answer with "
                            "a number.",
                        },
                        {"type": "image_url", "image_url": {"url": _png()}},
                    ],
                }
            ],
            max_tokens=MAX_ANSWER_TOKENS,
        ),
        _counts_one_image,
    ),
    "accepts_tools": Probe(
        ChatRequest(
            [
                {
                    "role": "user",
                    "content": f"Call the tool {TOOL} once, with the number 42.",
                }
            ],
            max_tokens=MAX_ANSWER_TOKENS,
            tools=(
                {
                    "type": "function",
                    "function": {
                        "name": TOOL,
                        "description": "Notes a number.",
                        "parameters": _PARAMETERS,
                    },
                },
            ),
        ),
        _calls_the_tool,
    ),
    PREFILL: Probe(
        ChatRequest(
            [
                {
                    "role": "user",
                    "content": "Write in upper case, in bold: "
                    "alpha bravo charlie delta echo foxtrot",
                },
                {"role": "assistant", "content": "**ALPHA BRAVO CHARLIE"},
            ],
            max_tokens=MAX_ANSWER_TOKENS,
            is_continued=True,
        ),
        _goes_on,
    ),
}
"""By the name of the ability. A model that only begins anew does not go on."""
