"""Writes requests in the Gemini protocol.

Parameters without an equivalent are left out: `parallel_tool_calls`.
Source: Gemini API reference v1beta, "Generating content", "Function calling" and
"Thought signatures".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from apps.llm.errors import BadRequest
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
    EFFORT,
    THINKING,
    extra_params,
    with_extra_body,
)
from apps.llm.protocols.gemini.addresses import method_url
from apps.llm.protocols.gemini.answer import GeminiReader, read_answer
from apps.llm.protocols.gemini.thinking import thinking_config, thinks
from apps.llm.protocols.json_mode import schema_of, wants_json, with_instruction
from apps.llm.protocols.json_values import encode, objects_in, text_in, without_nones
from apps.llm.protocols.tools import Tools, read_tools
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish

MODELS_PER_PAGE = 1000
"""The most that is allowed; there are some dozens."""
NO_SIGNATURE = "skip_thought_signature_validator"
"""Google's own word for: this call was not signed. Signatures can't travel through the
chat completions' shape, and models from Gemini 3 on refuse calls without any."""
_UNSIGNED = re.compile(r"(models/)?gemini-[12]\b")
"""Models of the time before signatures were checked."""
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_IMAGE_TYPES = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
_SAMPLING = {
    "top_k": "topK",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
}
_METHODS = "supportedGenerationMethods"


class Gemini:
    """See `apps.llm.protocols.base.WireProtocol`."""

    max_tool_name = 64

    def chat_url(self, endpoint: Endpoint, *, is_stream: bool) -> str:
        """Return the address of the model's method.

        Raises: BadRequest if an address cannot hold the model's name.
        """
        method = "streamGenerateContent?alt=sse" if is_stream else "generateContent"
        return method_url(endpoint, method)

    def models_url(self, endpoint: Endpoint) -> str:
        """Return the address of the method that lists models."""
        return f"{endpoint.base_url.rstrip('/')}/models?pageSize={MODELS_PER_PAGE}"

    def headers(self, endpoint: Endpoint) -> Headers:
        """Return the key; it never goes into the address."""
        return (("x-goog-api-key", endpoint.api_key),) if endpoint.api_key else ()

    def request_body(
        self, endpoint: Endpoint, request: ChatRequest, *, is_stream: bool
    ) -> bytes:
        """Return the JSON body. Raises: BadRequest."""
        conversation = read_conversation(request.messages)
        tools = read_tools(request)
        system = conversation.system
        if tools:  # refused beside the protocol's own JSON mode
            system = with_instruction(system, request.response_format)
        extra = extra_params(endpoint, request)
        config = _config(request, has_tools=tools is not None)
        if extra:
            config |= _extra_config(endpoint.model, extra)
        fields = {
            "contents": _contents(endpoint, conversation),
            "systemInstruction": {"parts": [{"text": system}]} if system else None,
            "generationConfig": config or None,
            **_tool_fields(tools),
        }
        return encode(with_extra_body(endpoint, without_nones(fields)))

    def extra_params(self, model: str) -> frozenset[str]:
        """Return the extra parameters that this model has words for."""
        found = frozenset(_SAMPLING)
        return found | {EFFORT, THINKING} if thinks(model) else found

    def read_answer(self, endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
        """Return the one JSON answer. Raises: LlmError."""
        return read_answer(endpoint, body)

    def reader(self, endpoint: Endpoint) -> GeminiReader:
        """Return what reads one streamed answer."""
        return GeminiReader(endpoint)

    def model_names(self, listing: Any) -> Iterable[Any] | None:
        """Return the names of the models that answer conversations."""
        rows = listing.get("models") if isinstance(listing, dict) else None
        if not isinstance(rows, list):
            return None
        return [
            text_in(row.get("name")).removeprefix("models/")
            for row in objects_in(rows)
            if _answers(row)
        ]


def _answers(row: dict[str, Any]) -> bool:
    """Say whether a model answers conversations; one that does not say may."""
    methods = row.get(_METHODS)
    return not methods or not isinstance(methods, list) or "generateContent" in methods


def _config(request: ChatRequest, *, has_tools: bool) -> dict[str, Any]:
    config: dict[str, Any] = {
        "maxOutputTokens": request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": list(request.stop) or None,
        "seed": request.seed,
    }
    if wants_json(request.response_format) and not has_tools:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = schema_of(request.response_format) or None
    return without_nones(config)


def _extra_config(model: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    said = {word: extra[name] for name, word in _SAMPLING.items() if name in extra}
    if said.get("topK", 1) < 1:
        del said["topK"]  # elsewhere that means no limit, here it is refused
    if thinking := thinking_config(model, extra):
        said["thinkingConfig"] = thinking
    return said


def _contents(
    endpoint: Endpoint, conversation: StrictConversation
) -> list[dict[str, Any]]:
    names = conversation.tool_names
    contents = []
    for turn in conversation.turns:
        parts = [_part(part, names) for part in (*turn.parts, *_shown(turn))]
        if turn.role == "assistant" and not _UNSIGNED.match(endpoint.model):
            _sign(parts)
        contents.append({"role": _role(turn), "parts": parts})
    return contents


def _shown(turn: MessageTurn) -> list[Image]:
    """Return the images in tools' results: those hold text alone."""
    results = [part for part in turn.parts if isinstance(part, ToolResult)]
    return [p for result in results for p in result.parts if isinstance(p, Image)]


def _role(turn: MessageTurn) -> str:
    return "model" if turn.role == "assistant" else "user"


def _sign(parts: list[dict[str, Any]]) -> None:
    """Mark the first call of a turn, the one whose signature is looked at."""
    for part in parts:
        if "functionCall" in part:
            part["thoughtSignature"] = NO_SIGNATURE
            return


def _part(part: Part, names: dict[str, str]) -> dict[str, Any]:
    match part:
        case WrittenText(text):
            return {"text": text}
        case Image():
            return _image(part)
        case ToolUse(id_, name, arguments):
            return {"functionCall": {"id": id_, "name": name, "args": arguments}}
        case ToolResult(call_id, parts):
            if call_id not in names:
                raise BadRequest("a tool's result without the call that it answers")
            text = "\n".join(
                inner.text for inner in parts if isinstance(inner, WrittenText)
            )
            result = {"id": call_id, "name": names[call_id]}
            return {"functionResponse": {**result, "response": {"output": text}}}


def _image(image: Image) -> dict[str, Any]:
    if image.data:
        return {"inlineData": {"mimeType": image.media_type, "data": image.data}}
    kind = _IMAGE_TYPES.get(PurePosixPath(urlsplit(image.url).path).suffix.lower())
    return {"fileData": without_nones({"mimeType": kind, "fileUri": image.url})}


def _tool_fields(tools: Tools | None) -> dict[str, Any]:
    if tools is None:
        return {}
    choice = tools.choice
    only = set(choice.only)
    declared = [
        without_nones(
            {
                "name": function.name,
                "description": function.description or None,
                "parametersJsonSchema": function.schema,
            }
        )
        for function in tools.functions
        if not only or function.name in only
    ]
    calling = {"functionCallingConfig": {"mode": _MODES[choice.mode]}}
    return {"tools": [{"functionDeclarations": declared}], "toolConfig": calling}
