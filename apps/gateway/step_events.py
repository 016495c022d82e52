"""Named events between the chunks of a stream, for clients that ask for them.

`event: step.completed` with the facts of the entry as data: names, numbers and times,
the same as in the ledger (docs/events.md); no text of a prompt or an answer, and none
of what a provider says when it fails. Only with the header `X-Conductor-Events: true`,
because some clients crash on named events.
"""

from __future__ import annotations

import orjson

from apps.core.errors import InvalidInput
from apps.engine.codec import encode
from apps.engine.events import Event
from apps.gateway.exchange import Exchange

HEADER = "X-Conductor-Events"
ASKED = {b"": False, b"false": False, b"true": True}
KINDS = ("plan.", "step.", "approval.")


def wants_events(exchange: Exchange) -> bool:
    """Say whether the request asks for named events. Raises: InvalidInput."""
    given = exchange.headers.get(b"x-conductor-events")
    if given is None:
        return False
    wanted = ASKED.get(given.strip().lower())
    if wanted is None:
        raise InvalidInput(f"{HEADER}: expected true or false", param=HEADER)
    return wanted


def step_event(event: Event) -> str:
    """Return a named event of the stream; empty for what has no place in one."""
    if not event.action.startswith(KINDS):
        return ""
    facts = encode(event).data
    facts.pop("message", None)
    facts.pop("approvers", None)  # people are no business of a program
    return f"event: {event.action}\ndata: {orjson.dumps(facts).decode()}\n\n"
