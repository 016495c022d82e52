"""What a turn says to the turn after it: its run's messages and its answer.

A run on record has all messages before its own, so the run of one turn is enough.
"""

from __future__ import annotations

from django.conf import settings

from apps.core.data_classes import DataClassName, data_class_read, highest
from apps.core.errors import Conflict, PromptTooLong
from apps.engine.cutting import cut_to_fit, shortest
from apps.engine.events import RunCompleted
from apps.engine.messages import question_of, typed_last
from apps.engine.ports import ImagePart, Message, Messages, TextPart
from apps.runs.types import RunRecord

PromptContent = str | list[TextPart | ImagePart]
"""A prompt: a text, or a text with files and images after it."""


def said_with(record: RunRecord) -> Messages:
    """Return the messages of a run. Raises: Conflict if they have been erased."""
    if not record.prompt:
        raise Conflict(
            "the texts of this turn have been erased, so nothing can follow it; begin "
            "a new conversation"
        )
    return record.messages or (Message(role="user", content=record.prompt),)


def prompt_of(record: RunRecord) -> str:
    """Return what a person wrote last in a run; empty: it has been erased.

    Its attachments are left out.
    """
    attached = len(record.params.get("attachments", ()))
    return typed_last(record.messages, record.prompt, attached)


def has_answer(record: RunRecord) -> bool:
    """Say whether another turn can follow."""
    end = record.summary and record.summary.end
    return isinstance(end, RunCompleted) and not end.tool_calls


def stated_class(record: RunRecord) -> DataClassName | None:
    """Return the highest data class stated for a run; None: nothing was stated."""
    stated = [
        data_class_read(name, param="data_class") for name in record.stated_classes
    ]
    return highest(stated) if stated else None


def history_after(record: RunRecord) -> Messages:
    """Return what is said up to the answer of a run, the answer included.

    Raises: Conflict if it has no answer, or none that a person can reply to.
    """
    end = record.summary and record.summary.end
    if not isinstance(end, RunCompleted):
        why = "has no answer" if end else "is in progress"
        raise Conflict(f"this turn {why}; wait for its answer, or replace the turn")
    if end.tool_calls:
        raise Conflict("this turn waits for the results of tools of the caller's")
    return *said_with(record), Message(role="assistant", content=end.said)


def history_before(record: RunRecord) -> Messages:
    """Return what was said before the prompt of a run. Raises: as `said_with`."""
    messages = said_with(record)
    last = max(i for i, each in enumerate(messages) if each["role"] == "user")
    return messages[:last]


def with_system(messages: Messages, system: str) -> Messages:
    """Return a conversation with `system` in place of its system prompt, if any."""
    spoken = tuple(each for each in messages if each["role"] != "system")
    if not system.strip():
        return spoken
    return Message(role="system", content=system), *spoken


def with_prompt(history: Messages, content: PromptContent) -> Messages:
    """Return a history with a prompt at its end, as much as fits in one prompt.

    What is left out is said in the messages. Raises: PromptTooLong.
    """
    messages = (*history, Message(role="user", content=content))
    fitting = cut_to_fit(messages, _fits)
    if fitting is None:
        found = _size(question_of(shortest(messages)))
        raise PromptTooLong(
            f"the prompt has {found:,} bytes; at most "
            f"{settings.MAX_PROMPT_BYTES:,} are accepted",
            param="prompt",
        )
    return fitting


def _fits(messages: Messages) -> bool:
    return _size(question_of(messages)) <= settings.MAX_PROMPT_BYTES


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
