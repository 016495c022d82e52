"""Writes requests in Anthropic's messages protocol.

Parameters without an equivalent are left out: `seed`; `top_p` beside a `temperature`,
which some Claudes refuse together; both of them for later Claudes, which refuse either,
and `temperature` beside thinking. Source: Anthropic API reference, "Messages" (version
2023-06-01).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from apps.llm.protocols.anthropic.answer import (
    ANSWER_TOOL,
    AnthropicReader,
    read_answer,
)
from apps.llm.protocols.anthropic.thinking import (
    NO_THINKING,
    read_thinking,
    thinks,
    version_of,
)
from apps.llm.protocols.base import Headers
from apps.llm.protocols.conversation import (
    Image,
    MessageTurn,
    Part,
    StrictConversation,
    ToolResult,
    ToolUse,
    WrittenText,
    read_conversation,
)
from apps.llm.protocols.extra_params import (
    CACHE_CONTROL,
    EFFORT,
    THINKING,
    extra_params,
    with_extra_body,
)
from apps.llm.protocols.json_mode import schema_of, with_instruction
from apps.llm.protocols.json_values import encode, objects_in, without_nones
from apps.llm.protocols.tools import ToolChoice, read_tools
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish

VERSION = ("anthropic-version", "2023-06-01")
MAX_TOKENS = 4096
"""Where the caller sets none: the protocol wants a limit, every model allows this."""
MAX_TEMPERATURE = 1.0
"""Chat completions go up to 2."""
MODELS_PER_PAGE = 1000
"""The most that is allowed; there are some dozens."""
WHY = "Gives the final answer. Call it once, with the whole answer."
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
UNSAMPLED = (4, 7)
"""From this Claude on `temperature`, `top_p` and `top_k` are refused."""
THINKING_TOP_P = 0.95
"""Less is refused beside thinking."""
EXTRA_PARAMS = frozenset(
    {EFFORT, THINKING, CACHE_CONTROL, "safety_identifier", "service_tier", "top_k"}
)
_SERVICE_TIERS = {
    "auto": "auto",
    "priority": "auto",
    "default": "standard_only",
    "standard_only": "standard_only",
}
"""By the words of chat completions; the others have none here."""
_MODES = {"auto": "auto", "none": "none", "required": "any"}


class Anthropic:
    """See `apps.llm.protocols.base.WireProtocol`."""

    max_tool_name = 128

    def chat_url(self, endpoint: Endpoint, *, is_stream: bool) -> str:
        """Return the address of the messages method."""
        return endpoint.base_url.rstrip("/") + "/messages"

    def models_url(self, endpoint: Endpoint) -> str:
        """Return the address of the method that lists models."""
        return f"{endpoint.base_url.rstrip('/')}/models?limit={MODELS_PER_PAGE}"

    def headers(self, endpoint: Endpoint) -> Headers:
        """Return the version, unless the endpoint sets its own, and the key."""
        own = {name.lower() for name, _ in endpoint.extra_headers}
        version = () if VERSION[0] in own else (VERSION,)
        key = (("x-api-key", endpoint.api_key),) if endpoint.api_key else ()
        return (*version, *key)

    def request_body(
        self, endpoint: Endpoint, request: ChatRequest, *, is_stream: bool
    ) -> bytes:
        """Return the JSON body. Raises: BadRequest."""
        conversation = read_conversation(request.messages)
        answering = _answer_tool(request)
        tool_fields = answering or _tool_fields(request, conversation)
        extra = extra_params(endpoint, request)
        thinking = NO_THINKING
        if extra:
            is_forced = request.is_continued or _must_call(tool_fields)
            thinking = read_thinking(
                endpoint.model,
                extra,
                request.max_tokens,
                is_forced=is_forced,
                follows_tools=_follows_tools(conversation),
            )
        fields: dict[str, Any] = {
            "model": endpoint.model,
            # Thoughts count as part of the answer.
            "max_tokens": request.max_tokens or MAX_TOKENS + thinking.budget,
            "messages": _messages(conversation.turns),
            "system": _system(conversation, request, has_form=bool(answering)),
            "stop_sequences": list(request.stop) or None,
            "stream": True if is_stream else None,
            **_sampling(endpoint, request, extra, is_thinking=thinking.is_on),
            **thinking.fields,
            **_other(extra),
            **tool_fields,
        }
        return encode(with_extra_body(endpoint, without_nones(fields)))

    def extra_params(self, model: str) -> frozenset[str]:
        """Return the extra parameters that this model has words for."""
        found = EXTRA_PARAMS
        if not thinks(model):
            found -= {EFFORT, THINKING}
        return found if _is_sampled(model) else found - {"top_k"}

    def read_answer(self, endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
        """Return the one JSON answer. Raises: LlmError."""
        return read_answer(endpoint, body)

    def reader(self, endpoint: Endpoint) -> AnthropicReader:
        """Return what reads one streamed answer."""
        return AnthropicReader(endpoint)

    def model_names(self, listing: Any) -> Iterable[Any] | None:
        """Return the names in `data`."""
        rows = listing.get("data") if isinstance(listing, dict) else None
        if not isinstance(rows, list):
            return None
        return [row.get("id") for row in objects_in(rows)]


def _is_sampled(model: str) -> bool:
    version = version_of(model)
    return version is None or version < UNSAMPLED


def _sampling(
    endpoint: Endpoint,
    request: ChatRequest,
    extra: Mapping[str, Any],
    *,
    is_thinking: bool,
) -> dict[str, float]:
    if not _is_sampled(endpoint.model):
        return {}
    if is_thinking:
        top_p = request.top_p or 0.0
        return {"top_p": top_p} if top_p >= THINKING_TOP_P else {}
    top_k = extra.get("top_k", 0)
    said: dict[str, float] = {"top_k": top_k} if top_k > 0 else {}
    if request.temperature is not None:
        said["temperature"] = min(request.temperature, MAX_TEMPERATURE)
    elif request.top_p is not None:
        said["top_p"] = request.top_p
    return said


def _other(extra: Mapping[str, Any]) -> dict[str, Any]:
    if not extra:
        return {}
    mark = extra.get(CACHE_CONTROL)
    person = extra.get("safety_identifier")
    return without_nones(
        {
            "service_tier": _SERVICE_TIERS.get(extra.get("service_tier", "")),
            "metadata": {"user_id": person} if person else None,
            CACHE_CONTROL: mark if isinstance(mark, Mapping) else None,
        }
    )


def _system(
    conversation: StrictConversation, request: ChatRequest, *, has_form: bool
) -> str | list[dict[str, Any]] | None:
    """Return the system messages: one text, or blocks if one of them is marked.

    `has_form`: the form of the answer is given elsewhere.
    """
    parts = conversation.system_parts
    wanted = None if has_form else request.response_format
    if all(part.cache_control is None for part in parts):
        return with_instruction(conversation.system, wanted) or None
    words = with_instruction("", wanted)
    return [_block(part) for part in (*parts, *([WrittenText(words)] if words else ()))]


def _must_call(tool_fields: Mapping[str, Any]) -> bool:
    return tool_fields.get("tool_choice", {}).get("type") in ("any", "tool")


def _follows_tools(conversation: StrictConversation) -> bool:
    last = conversation.turns[-1:]
    return any(isinstance(part, ToolResult) for turn in last for part in turn.parts)


def _messages(turns: tuple[MessageTurn, ...]) -> list[dict[str, Any]]:
    messages = [
        {"role": turn.role, "content": [_block(part) for part in turn.parts]}
        for turn in turns
    ]
    if turns and turns[-1].role == "assistant":
        _end_in_no_space(messages)
    return messages


def _end_in_no_space(messages: list[dict[str, Any]]) -> None:
    """Trim the last text: an answer to go on from must not end in white space."""
    blocks = messages[-1]["content"]
    if blocks[-1]["type"] == "text":
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()
        if not blocks[-1]["text"]:
            blocks.pop()
    if not blocks:
        messages.pop()


def _block(part: Part) -> dict[str, Any]:
    match part:
        case WrittenText(text, mark):
            return _marked({"type": "text", "text": text}, mark)
        case Image(media_type, data, url, mark):
            source = {"type": "base64", "media_type": media_type, "data": data}
            if not data:
                source = {"type": "url", "url": url}
            return _marked({"type": "image", "source": source}, mark)
        case ToolUse(id_, name, arguments):
            use = {"id": _id(id_), "name": name, "input": arguments}
            return {"type": "tool_use", **use}
        case ToolResult(call_id, parts):
            blocks = [_block(inner) for inner in parts]
            result = {"type": "tool_result", "tool_use_id": _id(call_id)}
            return {**result, "content": blocks} if blocks else result


def _marked(block: dict[str, Any], mark: Mapping[str, Any] | None) -> dict[str, Any]:
    return block if mark is None else {**block, CACHE_CONTROL: dict(mark)}


def _id(text: str) -> str:
    """Return an id with characters that are allowed; other providers use others."""
    return _NOT_IN_IDS.sub("_", text)


def _answer_tool(request: ChatRequest) -> dict[str, Any]:
    """Return a tool whose arguments are the answer, if a schema can be kept to so.

    Every model can be made to call a tool; only newer ones know `output_config`, and
    of schemas only a part.
    """
    schema = schema_of(request.response_format)
    if request.tools or request.is_continued or schema.get("type") != "object":
        return {}
    tool = {"name": ANSWER_TOOL, "description": WHY, "input_schema": schema}
    choice = {"type": "tool", "name": ANSWER_TOOL, "disable_parallel_tool_use": True}
    return {"tools": [tool], "tool_choice": choice}


def _tool_fields(
    request: ChatRequest, conversation: StrictConversation
) -> dict[str, Any]:
    tools = read_tools(request)
    if tools is None:
        return _tools_of_before(conversation)
    choice = tools.choice
    only = set(choice.only)
    declared = [
        without_nones(
            {
                "name": function.name,
                "description": function.description or None,
                "input_schema": function.schema,
            }
        )
        for function in tools.functions
        if not only or function.name in only
    ]
    return {"tools": declared, "tool_choice": _choice(choice, tools.is_parallel)}


def _choice(choice: ToolChoice, is_parallel: bool) -> dict[str, Any]:
    written: dict[str, Any] = {"type": _MODES[choice.mode]}
    if choice.mode == "required" and len(choice.only) == 1:
        written = {"type": "tool", "name": choice.only[0]}
    if not is_parallel and choice.mode != "none":
        written["disable_parallel_tool_use"] = True
    return written


def _tools_of_before(conversation: StrictConversation) -> dict[str, Any]:
    """Declare what was called earlier: calls of unknown tools are refused."""
    names = sorted(set(conversation.tool_names.values()))
    if not names:
        return {}
    declared = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    return {"tools": declared, "tool_choice": {"type": "none"}}
