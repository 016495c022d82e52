"""Text of calls under way, as the sockets of one process know it.

It grows at its end; a watcher asks for what follows after what it has had. A watcher
who is late, or slow, gets in one piece what others got in several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.runs.types import CallKey

Had = tuple[int, int]
"""Of one call: characters of text, and parts of reasoning, that a watcher has had."""
Wanted = tuple[tuple[CallKey, Had], ...]
"""For each call with something new, what a watcher has had of it."""


@dataclass(slots=True)
class PartialOutput:
    """The text of one call."""

    start: int = 0
    """What came before was never heard of here."""
    end: int = 0
    parts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)

    @property
    def had_by_all(self) -> Had:
        """Return the position of a subscriber that has received everything."""
        return self.end, len(self.reasoning)

    def grow(self, text: str) -> None:
        """Add text at the end."""
        if text:
            self.parts.append(text)
            self.end += len(text)

    def text_after(self, offset: int) -> tuple[int, str]:
        """Return where the text after `offset` begins here, and that text."""
        begin = max(offset, self.start)
        missing, tail = self.end - begin, []
        for part in reversed(self.parts):
            if missing <= 0:
                break
            tail.append(part[-missing:])
            missing -= len(part)
        return begin, "".join(reversed(tail))


class PartialOutputs:
    """All calls of one run that are under way."""

    def __init__(self) -> None:
        self._drafts: dict[CallKey, PartialOutput] = {}
        self._ended: set[CallKey] = set()
        """On record: what is still on its way of them is in the entry."""

    def begin(self, texts: Mapping[CallKey, Iterable[str]]) -> None:
        """Take over outputs from their first character on."""
        for place, parts in texts.items():
            if place in self._ended:
                continue
            draft = self._drafts.setdefault(place, PartialOutput())
            whole = "".join(parts)
            if len(whole) > draft.end or draft.start:
                draft.start, draft.end, draft.parts = 0, len(whole), [whole]

    def has_gap_before(self, piece: Mapping[str, Any]) -> bool:
        """Say whether text between what is known and this piece got lost."""
        place = place_of(piece)
        draft = self._drafts.get(place)
        known = 0 if draft is None else draft.end
        return place not in self._ended and int(piece["offset"]) > known

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take a piece in; of text that is known already, only what is new."""
        if (place := place_of(piece)) in self._ended:
            return
        draft = self._drafts.setdefault(place, PartialOutput())
        offset, text = int(piece["offset"]), str(piece["text"])
        if offset > draft.end:
            draft.start = draft.end = offset
            draft.parts.clear()
        draft.grow(text[draft.end - offset :])
        if piece["reasoning"]:
            draft.reasoning.append(str(piece["reasoning"]))

    def forget(self, place: CallKey) -> None:
        """Forget a call that is on record now."""
        self._drafts.pop(place, None)
        self._ended.add(place)

    def reasoning_so_far(self) -> dict[CallKey, Had]:
        """Return the position of a subscriber that skips the reasoning so far."""
        return {place: (0, len(each.reasoning)) for place, each in self._drafts.items()}

    def new_for(self, had: dict[CallKey, Had]) -> Wanted:
        """Return what is new for a watcher, who has had it from now on."""
        wanted = []
        for place, draft in self._drafts.items():
            before, now = had.get(place, (0, 0)), draft.had_by_all
            if before != now:
                wanted.append((place, before))
                had[place] = now
        return tuple(wanted)

    def pieces(self, wanted: Wanted) -> list[dict[str, object]]:
        """Return what is wanted, as the websocket sends it."""
        found = []
        for place, (text_had, reasoning_had) in wanted:
            draft = self._drafts[place]
            offset, text = draft.text_after(text_had)
            reasoning = "".join(draft.reasoning[reasoning_had:])
            found.append(piece_frame(place, offset, text, reasoning))
        return found


def place_of(piece: Mapping[str, Any]) -> CallKey:
    """Return the call that a piece is of, or that an entry ends."""
    return piece["round"], piece.get("step"), piece["attempt"]


def piece_frame(
    place: CallKey, offset: int, text: str, reasoning: str = ""
) -> dict[str, object]:
    """Return a piece of text as the websocket sends it."""
    round_, step, attempt = place
    return {
        "round": round_,
        "step": step,
        "attempt": attempt,
        "offset": offset,
        "text": text,
        "reasoning": reasoning,
    }
