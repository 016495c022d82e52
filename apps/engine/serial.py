"""Messages as JSON text, the way they are recorded."""

from __future__ import annotations

import orjson

from apps.engine.ports import Messages


def messages_json(messages: Messages) -> str:
    """Return `messages` as a JSON array."""
    return orjson.dumps(messages).decode()
