"""Messages for chats: each event as one plain line, as Slack and others take it.

Nothing of a name may become markup or call people: names are data.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from apps.core.plain_text import plain_line
from apps.webhooks.event_types import EventType

Facts = Mapping[str, Any]
CHAT_TYPE = "application/json"
NO_CALL = "@\u200b"
"""An @ with a space of no width, so that what follows is not called."""
NO_LINK = "]\u200b("
"""The same within `](`, which makes a link or an image of Markdown."""
RUN_ENDS = {
    "run.completed": "A run completed",
    "run.failed": "A run failed",
    "run.cancelled": "A run was cancelled",
}


def _budget(facts: Facts) -> str:
    spent = f"${facts['spent_usd']} of ${facts['limit_usd']}"
    return f"{facts['percent']} % of a budget for a {facts['period']} is spent: {spent}"


CHAT_WORDS: dict[str, Callable[[Facts], str]] = {
    "run.ended": lambda facts: RUN_ENDS[facts["action"]],
    "budget.crossed": _budget,
}
"""What happened, by the type of the event; others have their label. Apps above add
their own when they start."""


def chat_body(team_name: str, kind: EventType, data: Facts) -> bytes:
    """Return the message about an event for a chat, as JSON."""
    say = CHAT_WORDS.get(kind.name)
    words = kind.label if say is None else say(data)
    line = _inert(f"[{team_name}] {words}")
    url = data.get("url")
    return orjson.dumps({"text": f"{line} {url}" if url else line})


def _inert(text: str) -> str:
    """Return text that is no markup and calls nobody."""
    inert = html.escape(plain_line(text), quote=False)
    return inert.replace("@", NO_CALL).replace("](", NO_LINK)
