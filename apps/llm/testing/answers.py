"""Answers of the scripted provider, independent of any protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from apps.llm.testing.server import BodyFraming, Script, events_script
from apps.llm.types import TokenUsage, ToolCallDelta

USAGE = TokenUsage(7, 2)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One answer of a model."""

    texts: Sequence[str] = ("Hello", " world")
    """A chunk each, where the answer is streamed."""
    reasoning: str = ""
    calls: Sequence[ToolCallDelta] = ()
    """Whole calls; their arguments are the JSON text of an object."""
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"] = "stop"
    usage: TokenUsage | None = USAGE
    """None: the provider tells none."""
    model: str = "fake-1"

    @property
    def text(self) -> str:
        """Return the whole text."""
        return "".join(self.texts)


class AnswerProtocol(Protocol):
    """Says the same in one protocol."""

    def answer_script(self, answer: ModelAnswer) -> Script:
        """Return the answer in one piece."""
        ...

    def events(self, answer: ModelAnswer) -> list[bytes]:
        """Return the events of the streamed answer, one by one."""
        ...

    def error_event(self, message: str = "overloaded") -> bytes:
        """Return the event by which a stream that has begun says that it failed."""
        ...

    def refusal_script(self, status: int, message: str = "no") -> Script:
        """Return an error instead of an answer."""
        ...

    def models_script(self, names: Sequence[str]) -> Script:
        """Return a list of models."""
        ...


def stream_of(
    dialect: AnswerProtocol,
    answer: ModelAnswer,
    *,
    framing: BodyFraming = BodyFraming.CHUNKED,
    is_cut: bool = False,
) -> Script:
    """Return the streamed answer; `is_cut`: without its last event and its end."""
    events = dialect.events(answer)
    kept = events[:-1] if is_cut else events
    return events_script(*kept, framing=framing, is_cut=is_cut)
