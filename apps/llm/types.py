"""The values that cross the border of this package. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

FLOAT_BYTES = 4
"""Of one number of an embedding."""
Protocol = Literal["openai", "anthropic", "gemini"]
"""Which wire protocol an endpoint speaks."""
EXTRA_PARAMS = (
    "cache_control",
    "chat_template_kwargs",
    "frequency_penalty",
    "logit_bias",
    "min_p",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "repetition_penalty",
    "safety_identifier",
    "service_tier",
    "thinking",
    "top_k",
    "verbosity",
)
"""Parameters that not every model takes, by their names in chat completions."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long one call may take, by phase. Seconds."""

    connect_s: float = 5.0
    """Waiting for a connection: pool, name look-up, TCP and TLS together."""
    first_byte_s: float = 60.0
    """From the start of the call to the first byte of the answer's body."""
    first_token_s: float | None = None
    """From the start of the call to the first content, reasoning or tool call of a
    streamed answer. The caller holds to it, not this package. None: no such limit."""
    idle_s: float = 30.0
    """Between two pieces of the body."""
    total_s: float = 300.0
    """The whole call."""
    assumed_first_token_s: float | None = None
    """As `first_token_s`, where the caller knows no better yet. None: nothing is
    assumed."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one provider, and how to reach it."""

    name: str
    """What people call it; error messages name it."""
    base_url: str
    """Like `https://host/v1`; the protocol's path is appended."""
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeouts: Timeouts = Timeouts()
    extra_headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Sent as they are; their values count as secrets."""
    max_tokens_field: str = "max_tokens"
    """Some providers want `max_completion_tokens` instead."""
    protocol: Protocol = "openai"
    default_params: Mapping[str, Any] | None = None
    """Extra parameters for requests that do not bring them."""
    extra_body: Mapping[str, Any] | None = None
    """Fields of the JSON body, sent as they are; what a request says counts more."""
    makes_embeddings: bool = False
    """True: it turns texts into vectors, and answers no conversation."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return every text that must not show up in a message."""
        values = (self.api_key or "", *(value for _, value in self.extra_headers))
        return tuple(value for value in values if value)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What to ask. Only the fields that are set go on the wire."""

    messages: Sequence[Mapping[str, Any]]
    """In the shape of chat completions, whatever the endpoint's protocol: JSON values.
    Content is a text or a list of `text` and `image_url` parts; assistants may have
    `tool_calls`, tools a `tool_call_id`."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    response_format: Mapping[str, Any] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    """In the shape of chat completions, like `tool_choice`."""
    tool_choice: str | Mapping[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    extra: Mapping[str, Any] | None = None
    """Parameters that not every model takes, in the words of chat completions. Only
    what `extra_params_of` names has a form in the endpoint's protocol."""
    is_continued: bool = False
    """True: the last message is the beginning of the answer; the model goes on."""


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """Texts to turn into vectors."""

    texts: Sequence[str]
    dimensions: int | None = None
    """Numbers of each vector. None: as many as the model usually gives."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of some texts, in their order."""

    vectors: tuple[bytes, ...]
    """Each as 32-bit floating-point numbers, little endian."""
    model: str
    """The model that made them, as the provider names it."""
    usage: TokenUsage | None
    """None: the provider gave none."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call, or all of it."""

    index: int
    """Which of the answer's calls, from 0."""
    id: str = ""
    """With the first piece."""
    name: str = ""
    """With the first piece."""
    arguments: str = ""
    """The next characters of the JSON text."""


class Delta(NamedTuple):  # one for each token: a tuple is the quickest to make
    """A piece of an answer, or all of it."""

    text: str = ""
    reasoning: str = ""
    """Thinking that the provider shows apart from the answer."""
    tool_calls: tuple[ToolCallDelta, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them."""

    prompt_tokens: int
    """Cached ones included."""
    completion_tokens: int
    """Reasoning ones included."""
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is complete: the provider said so explicitly."""

    finish_reason: str
    model: str
    """The model that answered, as the provider names it."""
    usage: TokenUsage | None
    """None: the provider gave none."""
    stop_sequence: str = ""
    """Which stop sequence ended the answer, if one did and the provider says so."""
    refusal: str = ""
    """Why there is no more of the answer, in the words of the model or its provider.
    Empty: nothing was refused, or nobody says why."""
