"""Shortens a conversation that is too long for a model. docs/api.md states the rule.

Whole turns are left out, the oldest first. What always stays: system messages, the
newest message of the user, and the newest turn. An assistant's calls of tools and their
results are one turn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from apps.engine.ports import Message, Messages


def cut_to_fit(messages: Messages, fits: Callable[[Messages], bool]) -> Messages | None:
    """Return as much of a conversation as fits, None if even its end does not.

    A line says how many messages were left out. A conversation that fits comes back as
    it is.
    """
    if fits(messages):
        return messages
    going = _removable(messages)
    fewest = bisect_left(
        range(1, len(going) + 1),
        True,
        key=lambda n: fits(_without(messages, going[:n])),
    )
    return _without(messages, going[: fewest + 1]) if fewest < len(going) else None


def shortest(messages: Messages) -> Messages:
    """Return a conversation without all that may be left out of it."""
    going = _removable(messages)
    return _without(messages, going) if going else messages


def _removable(messages: Messages) -> list[list[int]]:
    """Return the turns that may be left out, as positions, oldest first."""
    turns = _turns(messages)
    asked = [i for i, m in enumerate(messages) if m["role"] == "user"]
    return [turn for turn in turns[:-1] if not asked or asked[-1] not in turn]


def _turns(messages: Messages) -> list[list[int]]:
    turns: list[list[int]] = []
    for position, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if message["role"] == "tool" and turns:
            turns[-1].append(position)  # belongs to the call before it
        else:
            turns.append([position])
    return turns


def _without(messages: Messages, turns: Sequence[Sequence[int]]) -> Messages:
    gone = {position for turn in turns for position in turn}
    kept = [m for position, m in enumerate(messages) if position not in gone]
    noun = "message" if len(gone) == 1 else "messages"
    return _noted(kept, f"[{len(gone)} earlier {noun} left out]")


def _noted(messages: list[Message], note: str) -> Messages:
    """Put `note` where the conversation proper begins.

    As a user's words, because several providers want a user to speak first.
    """
    first = next(i for i, m in enumerate(messages) if m["role"] != "system")
    message = messages[first]
    if message["role"] != "user":
        start = Message(role="user", content=note)
        return (*messages[:first], start, *messages[first:])
    content = message["content"]
    noted: Message = {**message}
    if isinstance(content, str):
        noted["content"] = f"{note}\n\n{content}"
    else:
        noted["content"] = [{"type": "text", "text": f"{note}\n\n"}, *content]
    return (*messages[:first], noted, *messages[first + 1 :])
