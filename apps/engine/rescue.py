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
    Delta,
    Message,
    Messages,
    ToolCallDelta,
)
from apps.engine.run import RunContext
from apps.engine.text import ThinkFilter

CHARACTERS_PER_TOKEN = 4
"""What a token of an answer is long on average; only to shorten what may follow."""


UNMISTAKABLE = 12
"""From so many characters on, an answer that goes on with all that was said is taken
to repeat it. One that truly says the same twice loses the second time."""


class Splice(Protocol):
    """Fits the visible text of a new call to what has been said before."""

    def feed(self, text: str) -> str:
        """Return what of the next piece is new. Raises: CallFailed (diverged)."""
        ...

    def finish(self) -> str:
        """Return what was held back, now that the call is complete.

        Raises: CallFailed (diverged) if it has not come as far as what was said.
        """
        ...


@dataclass(slots=True)
class Replay:
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

    def finish(self) -> str:
        if self._at < len(self.said):
            raise _diverged()
        return ""


@dataclass(slots=True)
class Continued:
    """The call goes on from what was said, which it was shown without its end's blanks.

    So it begins with those blanks, and they have been said already. A server that knows
    no partial answers begins anew instead: what repeats all that was said is left out.
    """

    said: str
    _owed: str = field(init=False)
    _held: str | None = field(init=False)
    """What may yet turn out to be a repetition; None: it is none."""

    def __post_init__(self) -> None:
        self._owed = self.said[len(self.said.rstrip()) :]
        self._held = "" if len(self.said) >= UNMISTAKABLE else None

    def feed(self, text: str) -> str:
        if self._held is None:
            return self._after_blanks(text)
        told = self._held = self._held + text
        if len(told) < len(self.said) and self.said.startswith(told):
            return ""
        self._held = None
        if told.startswith(self.said):
            self._owed = ""
            return told[len(self.said) :]
        return self._after_blanks(told)

    def _after_blanks(self, text: str) -> str:
        if not self._owed:
            return text
        shared = 0
        most = min(len(text), len(self._owed))
        while shared < most and text[shared] == self._owed[shared]:
            shared += 1
        # The first other character ends the comparison for good.
        self._owed = self._owed[shared:] if shared == len(text) else ""
        return text[shared:]

    def finish(self) -> str:
        held, self._held = self._held, None
        return self._after_blanks(held or "")


class SentAnswer:
    """The part of a live answer that the client has, over all calls of its step."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._said: list[str] = []
        self.has_called_tools = False
        """True once a piece of a tool call was sent: then no worker can take over."""

    @property
    def said(self) -> str:
        """Return the whole visible text that has gone out."""
        return "".join(self._said)

    def note(self, text: str, tool_calls: tuple[ToolCallDelta, ...] = ()) -> None:
        """Remember what goes out now."""
        if text:
            self._said.append(text)
        if tool_calls:
            self.has_called_tools = True
        if text or tool_calls:
            self._run.has_spoken = True


class AnswerWriter:
    """Lets one call speak: what it thinks, and what was said before, stays unsaid."""

    def __init__(self, voice: SentAnswer, *, is_continued: bool) -> None:
        self._voice = voice
        self._filter = ThinkFilter(has_begun=is_continued)
        self._joint: Splice = (Continued if is_continued else Replay)(voice.said)

    def take(self, delta: Delta) -> str:
        """Return what the next piece adds to the answer; its tool calls all count.

        Raises: CallFailed (diverged).
        """
        new = ""
        if delta.text:
            new = self._joint.feed(self._filter.feed(delta.text))
        if delta.tool_calls:
            new += self._joint.finish()
        self._voice.note(new, delta.tool_calls)
        return new

    def finish(self) -> str:
        """Return what was held back, now that the call is complete.

        Raises: CallFailed (diverged).
        """
        new = self._joint.feed(self._filter.flush()) + self._joint.finish()
        self._voice.note(new)
        return new


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
