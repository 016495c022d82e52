"""The three wire protocols from a client's side: how to ask, and what was said."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import httpx

from tests.simulator.asking import CHAT


@dataclass
class Said:
    """What an answer amounts to."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Name and arguments, as JSON text."""
    reason: str = ""
    """Empty if the answer never said that it is complete."""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: Any = None


class Dialect(ABC):
    """One protocol."""

    name: str
    headers: ClassVar[dict[str, str]]

    def __repr__(self) -> str:
        return self.name

    @abstractmethod
    def url(self, model: str, *, stream: bool) -> str: ...

    @abstractmethod
    def body(self, model: str, text: str, *, stream: bool) -> dict[str, Any]: ...

    @abstractmethod
    def read(self, data: Any, said: Said) -> None:
        """Add a whole answer, or one event of a stream."""

    async def response(
        self, client: httpx.AsyncClient, model: str, text: str, *, stream: bool = False
    ) -> httpx.Response:
        body = self.body(model, text, stream=stream)
        url = self.url(model, stream=stream)
        return await client.post(url, json=body, headers=self.headers)

    async def ask(
        self, client: httpx.AsyncClient, model: str, text: str, *, stream: bool = False
    ) -> Said:
        response = await self.response(client, model, text, stream=stream)
        assert response.status_code == 200, response.text
        return self.said(response.text, stream=stream)

    def said(self, text: str, *, stream: bool) -> Said:
        said = Said()
        for data in events(text) if stream else [json.loads(text)]:
            if isinstance(data, dict) and "error" in data:
                said.error = data["error"]
            else:
                self.read(data, said)
        return said


def events(text: str) -> list[Any]:
    """Return the data of every event; the end marker as itself."""
    lines = [line for line in text.splitlines() if line.startswith("data: ")]
    data = [line.removeprefix("data: ") for line in lines]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


class OpenAI(Dialect):
    name = "openai"
    headers: ClassVar[dict[str, str]] = {"authorization": "Bearer right"}

    def url(self, model: str, *, stream: bool) -> str:
        return CHAT

    def body(self, model: str, text: str, *, stream: bool) -> dict[str, Any]:
        messages = [{"role": "user", "content": text}]
        options = {"include_usage": True}
        body = {"model": model, "messages": messages, "stream": stream}
        return {**body, "stream_options": options} if stream else body

    def read(self, data: Any, said: Said) -> None:
        if data == "[DONE]":
            return
        said.model = data["model"]
        if usage := data.get("usage"):
            said.prompt_tokens = usage["prompt_tokens"]
            said.completion_tokens = usage["completion_tokens"]
        for choice in data["choices"]:
            self._read_choice(choice, said)

    def _read_choice(self, choice: Any, said: Said) -> None:
        part = choice.get("delta") or choice.get("message") or {}
        said.text += part.get("content") or part.get("refusal") or ""
        said.reasoning += part.get("reasoning_content") or ""
        said.reason = choice["finish_reason"] or said.reason
        for call in part.get("tool_calls", ()):
            function = call["function"]
            if "name" in function:
                said.calls.append((function["name"], function["arguments"]))
            else:
                name, arguments = said.calls[call["index"]]
                said.calls[call["index"]] = (name, arguments + function["arguments"])


class Anthropic(Dialect):
    name = "anthropic"
    headers: ClassVar[dict[str, str]] = {
        "x-api-key": "right",
        "anthropic-version": "2023-06-01",
    }

    def url(self, model: str, *, stream: bool) -> str:
        return "/v1/messages"

    def body(self, model: str, text: str, *, stream: bool) -> dict[str, Any]:
        messages = [{"role": "user", "content": text}]
        base = {"model": model, "max_tokens": 1000, "messages": messages}
        return {**base, "stream": stream}

    def read(self, data: Any, said: Said) -> None:
        match data["type"]:
            case "message":
                self._open(data, said)
                for block in data["content"]:
                    self._block(block, said)
                    if block["type"] == "tool_use":
                        said.calls[-1] = (block["name"], json.dumps(block["input"]))
                said.reason = data["stop_reason"]
            case "message_start":
                self._open(data["message"], said)
            case "content_block_start":
                self._block(data["content_block"], said)
            case "content_block_delta":
                self._delta(data["delta"], said)
            case "message_delta":
                said.reason = data["delta"]["stop_reason"]
                self._usage(data, said)

    def _open(self, message: Any, said: Said) -> None:
        said.model = message["model"]
        self._usage(message, said)

    def _usage(self, data: Any, said: Said) -> None:
        usage = data.get("usage")
        if usage is None:
            return
        said.completion_tokens = usage["output_tokens"]
        if "input_tokens" in usage:
            cached = usage["cache_read_input_tokens"]
            said.prompt_tokens = usage["input_tokens"] + cached

    def _block(self, block: Any, said: Said) -> None:
        said.text += block.get("text", "")
        said.reasoning += block.get("thinking", "")
        if block["type"] == "tool_use":
            said.calls.append((block["name"], ""))

    def _delta(self, delta: Any, said: Said) -> None:
        said.text += delta.get("text", "")
        said.reasoning += delta.get("thinking", "")
        if "partial_json" in delta:
            name, arguments = said.calls[-1]
            said.calls[-1] = (name, arguments + delta["partial_json"])


class Gemini(Dialect):
    name = "gemini"
    headers: ClassVar[dict[str, str]] = {"x-goog-api-key": "right"}

    def url(self, model: str, *, stream: bool) -> str:
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{model}:{verb}"

    def body(self, model: str, text: str, *, stream: bool) -> dict[str, Any]:
        return {"contents": [{"role": "user", "parts": [{"text": text}]}]}

    def read(self, data: Any, said: Said) -> None:
        said.model = data["modelVersion"]
        if usage := data.get("usageMetadata"):
            said.prompt_tokens = usage["promptTokenCount"]
            thoughts = usage.get("thoughtsTokenCount", 0)
            said.completion_tokens = usage["candidatesTokenCount"] + thoughts
        if feedback := data.get("promptFeedback"):
            said.reason = feedback["blockReason"]
        for candidate in data.get("candidates", ()):
            said.reason = candidate.get("finishReason", said.reason)
            for part in candidate["content"].get("parts", ()):
                self._part(part, said)

    def _part(self, part: Any, said: Said) -> None:
        if part.get("thought"):
            said.reasoning += part["text"]
        elif "functionCall" in part:
            call = part["functionCall"]
            said.calls.append((call["name"], json.dumps(call["args"])))
        else:
            said.text += part["text"]


DIALECTS: tuple[Dialect, ...] = (OpenAI(), Anthropic(), Gemini())
