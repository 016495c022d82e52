"""A finished run as a message: its content blocks, stop reason and usage.

Sums are those of `chat_completions.documents`. The protocol counts cached input apart
from the rest, so `input_tokens` is what was not cached.
"""

from __future__ import annotations

import uuid
from typing import Any

import orjson

from apps.engine.events import RunCompleted
from apps.engine.usage import Usage
from apps.gateway.chat_completions.documents import conductor_document, finish_reason
from apps.gateway.responses.documents import steps_text
from apps.gateway.tool_calls import with_ids
from apps.runs.types import RunSummary

Document = dict[str, Any]
STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
UNPARSED = "unparsed"
"""The field of `input` that holds arguments which are no JSON object."""


def message_id(run_id: uuid.UUID) -> str:
    """Return the id under which a run is a message."""
    return f"msg_{run_id.hex}"


def message_document(
    summary: RunSummary, end: RunCompleted, *, model: str, shows_thinking: bool
) -> Document:
    """Return the body of a message that was not streamed."""
    return {
        **message_head(summary.run_id, model),
        "content": _content(summary, end, shows_thinking=shows_thinking),
        **stop_document(end),
        "usage": usage_document(end.usage),
        "conductor": conductor_document(summary),
    }


def message_head(run_id: uuid.UUID, model: str) -> Document:
    """Return a message before there is anything of its answer."""
    return {
        "id": message_id(run_id),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def stop_document(end: RunCompleted) -> Document:
    """Return why an answer ended, in the protocol's words."""
    reason = finish_reason(end)
    if end.refusal:
        details = {"type": "refusal", "category": None, "explanation": end.refusal}
        return {
            "stop_reason": STOP_REASONS[reason],
            "stop_sequence": None,
            "stop_details": details,
        }
    if reason == "stop" and end.stop_sequence:
        return {"stop_reason": "stop_sequence", "stop_sequence": end.stop_sequence}
    return {"stop_reason": STOP_REASONS[reason], "stop_sequence": None}


def usage_document(usage: Usage) -> Document:
    """Return all tokens of a run."""
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
    }


def signature_of(run_id: uuid.UUID) -> str:
    """Return what stands for a signature of thoughts; clients send it back."""
    return f"conductor-{run_id.hex}"


def thinking_block(text: str, signature: str) -> Document:
    """Return what a run did as thoughts."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def text_block(text: str) -> Document:
    """Return text of the answer."""
    return {"type": "text", "text": text}


def tool_use_block(call_id: str, name: str, given: Document) -> Document:
    """Return the wish to have a tool of the caller's called."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def _content(
    summary: RunSummary, end: RunCompleted, *, shows_thinking: bool
) -> list[Document]:
    content: list[Document] = []
    if shows_thinking and (steps := steps_text(summary.steps)):
        content.append(thinking_block(steps, signature_of(summary.run_id)))
    calls = with_ids(end.tool_calls, summary.run_id)
    if end.said or not calls:
        content.append(text_block(end.said))
    content += [
        tool_use_block(
            call["id"],
            call["function"]["name"],
            _input(call["function"]["arguments"]),
        )
        for call in calls
    ]
    return content


def _input(arguments: str) -> Document:
    try:
        given = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        given = None
    return given if isinstance(given, dict) else {UNPARSED: arguments}
