"""Scripts in the chat completions protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.llm.testing.answers import ModelAnswer, stream_of
from apps.llm.testing.server import Script, event, json_script
from apps.llm.types import TokenUsage, ToolCallDelta

DONE_EVENT = b"data: [DONE]\n\n"


class OpenAiDialect:
    """See `apps.llm.testing.answers.Dialect`."""

    def answer_script(self, answer: ModelAnswer) -> Script:
        """Return the answer in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [_call(call) for call in answer.calls]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": answer.finish_reason,
        }
        body: dict[str, Any] = {"model": answer.model, "choices": [choice]}
        if answer.usage:
            body["usage"] = _usage(answer.usage)
        return json_script(body)

    def events(self, answer: ModelAnswer) -> list[bytes]:
        """Return the chunks: every call in two, its name and its arguments."""
        model = answer.model
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if answer.reasoning:
            deltas.append({"reasoning_content": answer.reasoning})
        deltas += [{"content": text} for text in answer.texts]
        for call in answer.calls:
            begun = {**_call(call), "index": call.index}
            begun["function"] = {"name": call.name, "arguments": ""}
            rest = {"arguments": call.arguments}
            deltas.append({"tool_calls": [begun]})
            deltas.append({"tool_calls": [{"index": call.index, "function": rest}]})
        events = [chunk_event(delta, model=model) for delta in deltas]
        events.append(chunk_event({}, answer.finish_reason, model=model))
        if answer.usage:
            usage = _usage(answer.usage)
            events.append(event({**_HEAD, "choices": [], "usage": usage}))
        return [*events, DONE_EVENT]

    def error_event(self, message: str = "overloaded") -> bytes:
        """Return an error chunk."""
        return event({"error": {"message": message, "type": "server_error"}})

    def refusal_script(self, status: int, message: str = "no") -> Script:
        """Return an error in the usual shape."""
        return refusal_script(status, message)

    def models_script(self, names: Sequence[str]) -> Script:
        """Return a list of models."""
        rows = [{"id": name, "object": "model"} for name in names]
        return json_script({"object": "list", "data": rows})


_HEAD = {"id": "c-1", "model": "fake-1"}


def stream_script(
    texts: Iterable[str] = ("Hello", " world"), *, usage: tuple[int, int] = (7, 2)
) -> Script:
    """Return a proper streamed answer with one chunk per text."""
    answer = ModelAnswer(tuple(texts), usage=TokenUsage(*usage))
    return stream_of(OpenAiDialect(), answer)


def answer_script(
    text: str = "Hello world", *, usage: tuple[int, int] = (7, 2)
) -> Script:
    """Return a proper answer in one piece."""
    return OpenAiDialect().answer_script(ModelAnswer((text,), usage=TokenUsage(*usage)))


def refusal_script(
    status: int,
    message: str = "no",
    *,
    code: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
) -> Script:
    """Return an error in the usual shape."""
    error = {"message": message, "type": "fake", "param": None, "code": code}
    return json_script({"error": error}, status=status, headers=headers)


def chunk_event(
    delta: Mapping[str, Any],
    finish_reason: str | None = None,
    *,
    model: str = "fake-1",
) -> bytes:
    """Return one chunk of a streamed answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return event({**_HEAD, "model": model, "choices": [choice]})


def usage_event(prompt_tokens: int = 7, completion_tokens: int = 2) -> bytes:
    """Return the chunk that reports usage at the end."""
    usage = _usage(TokenUsage(prompt_tokens, completion_tokens))
    return event({**_HEAD, "choices": [], "usage": usage})


def _call(call: ToolCallDelta) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
