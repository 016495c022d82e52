"""A reply before it is sent: its pieces, its pace, and what it counts as tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from apps.simulator.request import ChatMessage, ChatRequest

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
"""Chat framing around each message."""
PIECE = re.compile(r"\s*\S{1,5}|\s+")
"""One token: at most five letters with the space before them, about 4 on average."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model says and how fast. One piece is one token."""

    pieces: tuple[str, ...]
    first_token_s: float = 0.0
    """From the request to the first token."""
    tokens_per_s: float = 0.0
    """0: all at once."""
    finish_reason: str = "stop"

    @property
    def text(self) -> str:
        """Return the whole answer."""
        return "".join(self.pieces)


def reply(text: str, *, first_token_s: float = 0.0, tokens_per_s: float = 0.0) -> Reply:
    """Return `text` as a reply."""
    return Reply(tuple(PIECE.findall(text)), first_token_s, tokens_per_s)


def within_limits(whole: Reply, request: ChatRequest) -> Reply:
    """Return the reply cut at the request's stop words and token limit."""
    if request.stop:
        text = whole.text
        found = [at for stop in request.stop if (at := text.find(stop)) >= 0]
        if found:
            whole = replace(whole, pieces=tuple(PIECE.findall(text[: min(found)])))
    if request.max_tokens is not None and len(whole.pieces) > request.max_tokens:
        pieces = whole.pieces[: request.max_tokens]
        whole = replace(whole, pieces=pieces, finish_reason="length")
    return whole


def count_prompt_tokens(messages: tuple[ChatMessage, ...]) -> int:
    """Count the input tokens of `messages`."""
    return sum(
        -(-len(message.text) // CHARACTERS_PER_TOKEN) + TOKENS_PER_MESSAGE
        for message in messages
    )
