"""Goes on from the beginning of an answer, to the letter.

White space at the end of a beginning is what templates trim and some providers refuse.
So it is left out of the request, and out of what comes back if it comes again.
"""

from __future__ import annotations

from dataclasses import replace

from apps.llm.types import ChatRequest, Delta


class Continuation:
    """The white space that the caller already has."""

    __slots__ = ("_rest",)

    def __init__(self, rest: str = "") -> None:
        self._rest = rest

    def follow(self, delta: Delta) -> Delta | None:
        """Return what of `delta` is new; None: nothing."""
        if not self._rest or not delta.text:
            return delta
        text, rest = delta.text, self._rest
        known = 0
        while known < min(len(text), len(rest)) and text[known] == rest[known]:
            known += 1
        # The first other character ends the comparison for good.
        self._rest = rest[known:] if known == len(text) else ""
        left = delta._replace(text=text[known:])
        return left if left.text or left.reasoning or left.tool_calls else None


def prepare(request: ChatRequest) -> tuple[ChatRequest, Continuation]:
    """Return the request as it goes out, and what follows its answer."""
    last = request.messages[-1] if request.is_continued and request.messages else None
    if last is None or not isinstance(last.get("content"), str):
        return request, Continuation()
    beginning = last["content"].rstrip()
    rest = last["content"][len(beginning) :]
    before = tuple(request.messages[:-1])
    if not beginning:  # nothing was said yet: the answer begins anew
        return replace(request, messages=before, is_continued=False), Continuation(rest)
    messages = (*before, {**last, "content": beginning})
    return replace(request, messages=messages), Continuation(rest)
