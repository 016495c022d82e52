"""Removes a model's private thinking from what others see."""

from __future__ import annotations

OPEN = "<think>"
CLOSE = "</think>"


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
        self._held += piece
        seen = []
        while True:
            tag = CLOSE if self._is_inside else OPEN
            before, found, after = self._held.partition(tag)
            if not found:
                break
            if not self._is_inside:
                seen.append(before)
            self._is_inside = not self._is_inside
            self._held = after
        kept = _overlap(self._held, CLOSE if self._is_inside else OPEN)
        if not self._is_inside:
            seen.append(self._held[: len(self._held) - kept])
        self._held = self._held[len(self._held) - kept :]
        return self._visible("".join(seen))

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


def _overlap(text: str, tag: str) -> int:
    """Return how many last characters of `text` may be the beginning of `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-size:]):
            return size
    return 0
