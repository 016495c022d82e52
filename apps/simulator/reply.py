"""A reply before it is sent: its pieces, its pace, and what it counts as tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from apps.simulator.request import ChatMessage, SimulatedRequest, SimulatedToolCall

FILTERED_CATEGORY = "violence"
"""What a filter says it found in an answer that it held back."""
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
"""Chat framing around each message."""
TOKENS_PER_PICTURE = 1_000
PIECE = re.compile(r"\s*\S{1,5}|\s+")
"""One token: at most five letters with the space before them, about 4 on average."""

FinishReason = Literal["stop", "length", "tool_calls", "filtered"]
"""Why an answer ended; `filtered` if the provider held the rest back."""


class TokenPart(NamedTuple):
    """One token on its way. A tuple, because there is one of it for every token."""

    kind: Literal["reasoning", "text", "refusal", "call"]
    text: str
    call_index: int = 0
    """Of a call: its place among the answer's calls."""
    call: SimulatedToolCall | None = None
    """The whole call, with each of its parts."""
    is_first: bool = False
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class SimulatedReply:
    """What a model says and how fast. One piece is one token."""

    pieces: tuple[str, ...]
    first_token_s: float = 0.0
    """From the request to the first token."""
    tokens_per_s: float = 0.0
    """0: all at once."""
    finish_reason: FinishReason = "stop"
    reasoning: tuple[str, ...] = ()
    """Thinking that is shown before the answer."""
    calls: tuple[SimulatedToolCall, ...] = ()
    refusal: tuple[str, ...] = ()
    """What the model says instead of an answer."""
    stop_word: str = ""
    """The stop word that ended the text, if one did."""
    cached_share: float = 0.0
    """How much of the prompt was found in a cache, from 0 to 1."""

    @property
    def text(self) -> str:
        """Return the whole answer."""
        return "".join(self.pieces)

    @property
    def explanation(self) -> str:
        """Return why there is no more of the answer; empty: it is whole."""
        if self.finish_reason == "filtered":
            return f"A filter for {FILTERED_CATEGORY} held the rest back."
        return "".join(self.refusal)

    @property
    def token_count(self) -> int:
        """Return how many tokens are sent."""
        calls = sum(1 + len(cut(call.arguments)) for call in self.calls)
        return len(self.reasoning) + len(self.pieces) + len(self.refusal) + calls

    def parts(self) -> Iterator[TokenPart]:
        """Yield every token in the order it is sent."""
        yield from (TokenPart("reasoning", piece) for piece in self.reasoning)
        yield from (TokenPart("text", piece) for piece in self.pieces)
        yield from (TokenPart("refusal", piece) for piece in self.refusal)
        for index, call in enumerate(self.calls):
            pieces = ("", *cut(call.arguments))
            end = len(pieces) - 1
            for at, piece in enumerate(pieces):
                yield TokenPart("call", piece, index, call, at == 0, at == end)


@dataclass(frozen=True, slots=True)
class SimulatedUsage:
    """Tokens of one exchange."""

    prompt: int
    """Cached ones included."""
    completion: int
    """Reasoning ones included."""
    cached: int = 0
    reasoning: int = 0


def cut(text: str) -> tuple[str, ...]:
    """Return the tokens of `text`."""
    return tuple(PIECE.findall(text))


def reply(
    text: str, *, first_token_s: float = 0.0, tokens_per_s: float = 0.0
) -> SimulatedReply:
    """Return `text` as a reply."""
    return SimulatedReply(cut(text), first_token_s, tokens_per_s)


def first(whole: SimulatedReply, count: int) -> SimulatedReply:
    """Return the reply as far as its first `count` tokens."""
    reasoning = whole.reasoning[:count]
    pieces = whole.pieces[: max(count - len(whole.reasoning), 0)]
    left = count - len(whole.reasoning) - len(whole.pieces)
    calls: list[SimulatedToolCall] = []
    for call in whole.calls:
        if left <= 0:
            break
        kept = cut(call.arguments)[: left - 1]
        left -= 1 + len(cut(call.arguments))
        calls.append(replace(call, arguments="".join(kept)))
    return replace(whole, reasoning=reasoning, pieces=pieces, calls=tuple(calls))


def within_limits(whole: SimulatedReply, request: SimulatedRequest) -> SimulatedReply:
    """Return the reply cut at the request's stop words and token limit."""
    if request.stop:
        text = whole.text
        found = [(at, word) for word in request.stop if (at := text.find(word)) >= 0]
        if found:
            at, word = min(found)
            whole = replace(whole, pieces=cut(text[:at]), stop_word=word)
    if request.max_tokens is not None and whole.token_count > request.max_tokens:
        whole = replace(first(whole, request.max_tokens), finish_reason="length")
    return whole


def usage_of(request: SimulatedRequest, sent: SimulatedReply) -> SimulatedUsage:
    """Return what the exchange counts as."""
    prompt = count_prompt_tokens(request)
    cached = int(prompt * sent.cached_share)
    return SimulatedUsage(prompt, sent.token_count, cached, len(sent.reasoning))


def count_prompt_tokens(request: SimulatedRequest) -> int:
    """Count the input tokens of `request`."""
    texts = [*map(_written, request.messages), *([request.begun] * bool(request.begun))]
    pictures = TOKENS_PER_PICTURE * len(request.pictures)
    return pictures + sum(
        -(-len(text) // CHARACTERS_PER_TOKEN) + TOKENS_PER_MESSAGE for text in texts
    )


def _written(message: ChatMessage) -> str:
    return message.text + "".join(c.name + c.arguments for c in message.calls)
