"""Keeps a live answer whole when the call that was giving it fails.

What has gone out to the caller is never repeated and never contradicted: the next call
goes on from it, or its text is held back until it has said the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from apps.engine.errors import CallFailed, CallFault
from apps.engine.ports import (
    CallParams,
    Message,
    Messages,
    Progress,
    ProgressSink,
    ToolCallDelta,
)

CHARACTERS_PER_TOKEN = 4
"""What a token of an answer is long on average; only to shorten what may follow."""


class Joint(Protocol):
    """Fits the visible text of a new call to what has been said before."""

    def feed(self, text: str) -> str:
        """Return what of the next piece is new. Raises: CallFailed (diverged)."""
        ...

    def finish(self) -> None:
        """Check that the call, now complete, has come as far as what was said.

        Raises: CallFailed (diverged).
        """
        ...


@dataclass(slots=True)
class Retold:
    """The call answers anew: nothing of it is new until it has said the same."""

    said: str
    _at: int = 0

    def feed(self, text: str) -> str:
        if self._at == len(self.said):
            return text
        expected = self.said[self._at : self._at + len(text)]
        if not text.startswith(expected):
            raise _diverged()
        self._at += len(expected)
        return text[len(expected) :]

    def finish(self) -> None:
        if self._at < len(self.said):
            raise _diverged()


@dataclass(slots=True)
class Continued:
    """The call goes on from what was said, which it was shown without its end's blanks.

    So it begins with those blanks, and they have been said already.
    """

    said: str
    _owed: str = field(init=False)

    def __post_init__(self) -> None:
        self._owed = self.said[len(self.said.rstrip()) :]

    def feed(self, text: str) -> str:
        while self._owed and text:
            if text[0] != self._owed[0]:
                self._owed = ""
                break
            text, self._owed = text[1:], self._owed[1:]
        return text

    def finish(self) -> None:
        return


@dataclass(slots=True)
class Voice:
    """What the caller has been told of a live answer, over all calls of its step."""

    progress: ProgressSink
    has_called_tools: bool = False
    """True once a piece of a tool call is out: from then on nobody can take over."""
    _said: list[str] = field(default_factory=list)

    @property
    def said(self) -> str:
        """Return the whole visible text that has gone out."""
        return "".join(self._said)

    def say(self, place: tuple[int, int, int], text: str) -> None:
        """Send the next piece of the answer."""
        self._said.append(text)
        self.progress.emit(Progress(*place, text, is_answer=True))

    def call_tools(
        self, place: tuple[int, int, int], pieces: tuple[ToolCallDelta, ...]
    ) -> None:
        """Send pieces of tool calls."""
        self.has_called_tools = True
        self.progress.emit(Progress(*place, "", is_answer=True, tool_calls=pieces))

    def joint(self, *, is_continued: bool) -> Joint:
        """Return what fits a new call to what has been said."""
        return Continued(self.said) if is_continued else Retold(self.said)


def continued_messages(messages: Messages, said: str) -> Messages:
    """Return `messages` with the beginning of the answer, for the model to go on.

    Blanks at its end are left out: some providers refuse them, and models find no way
    on from them.
    """
    return (*messages, Message(role="assistant", content=said.rstrip()))


def continued_params(params: CallParams, said: str) -> CallParams:
    """Return `params` with room for the rest of an answer only."""
    if params.max_tokens is None:
        return params
    written = len(said) // CHARACTERS_PER_TOKEN
    return replace(params, max_tokens=max(1, params.max_tokens - written))


def _diverged() -> CallFailed:
    return CallFailed(
        CallFault.DIVERGED, "the new answer differs from what was sent already"
    )
