"""Removes what surrounds an answer: private thinking, and the fences around JSON."""

from __future__ import annotations

import re

OPEN = "<think>"
CLOSE = "</think>"
_THINKING = re.compile(r"(?:\A|<think>)((?:(?!<think>).)*?)</think>", re.DOTALL)
"""The thinking in a block; some servers swallow the first opening tag."""
FENCE = "```"
FENCED_AS = "json"


class ThinkFilter:
    """Removes `<think>…</think>` from a text that comes in pieces. Sans-I/O.

    Whitespace before the first visible character is dropped too, unless something is
    visible already (`has_begun`). A block that is never closed swallows the rest.
    """

    def __init__(self, *, has_begun: bool = False) -> None:
        self._held = ""
        self._is_inside = False
        self._has_spoken = has_begun

    def feed(self, piece: str) -> str:
        """Take the next piece; return what is certainly visible by now."""
        if not self._held and not self._is_inside and "<" not in piece:
            return self._visible(piece)
        text, self._held = self._held + piece, ""
        if self._is_inside:
            _, closed, text_after = text.partition(CLOSE)
            if not closed:
                self._held = _end_like(text, CLOSE)
                return ""
            text, self._is_inside = text_after, False
        # Blocks that are closed are taken out at once, so that any number of them takes
        # linear time: up to the last closing tag each opening one has its end.
        end = text.rfind(CLOSE) + len(CLOSE) if CLOSE in text else 0
        seen = _without_blocks(text[:end])
        before, opened, inside = text[end:].partition(OPEN)
        if opened:
            self._is_inside = True
            self._held = _end_like(inside, CLOSE)
            return self._visible(seen + before)
        self._held = _end_like(before, OPEN)
        return self._visible(seen + before.removesuffix(self._held))

    def flush(self) -> str:
        """Return what was held back; call once, at the end."""
        rest = "" if self._is_inside else self._held
        self._held = ""
        return self._visible(rest)

    def _visible(self, text: str) -> str:
        if not self._has_spoken:
            text = text.lstrip()
            self._has_spoken = bool(text)
        return text


def strip_thinking(text: str) -> str:
    """Return `text` without thinking.

    Some servers swallow the opening tag, so all before a lone closing one goes too.
    """
    head, found, tail = text.partition(CLOSE)
    if found and OPEN not in head:
        text = tail
    think_filter = ThinkFilter()
    return think_filter.feed(text) + think_filter.flush()


def thinking_in(text: str) -> str:
    """Return the thinking inside the `<think>` blocks of `text`; empty: none."""
    return "\n\n".join(part.strip() for part in _THINKING.findall(text))


def without_fences(text: str) -> str:
    """Return what stands between Markdown fences if JSON fills all of `text` so.

    Many models write JSON as a code block, whatever the instructions say. Any other
    text is returned unchanged.
    """
    bare = text.strip()
    if len(bare) < 2 * len(FENCE) or not bare.startswith(FENCE):
        return text
    if not bare.endswith(FENCE):
        return text
    inner = bare.removeprefix(FENCE).removesuffix(FENCE).strip()
    if inner[: len(FENCED_AS)].lower() == FENCED_AS:
        inner = inner[len(FENCED_AS) :].lstrip()
    return inner


def _without_blocks(text: str) -> str:
    """Return `text` without its blocks; after each opening tag there is a closing one.

    A regular expression would look through the whole text again for each tag.
    """
    parts: list[str] = []
    place = 0
    while (start := text.find(OPEN, place)) >= 0:
        parts.append(text[place:start])
        place = text.find(CLOSE, start) + len(CLOSE)
    return "".join((*parts, text[place:]))


def _end_like(text: str, tag: str) -> str:
    """Return the last characters of `text` that may be the beginning of `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return tag[:size]
    return ""
