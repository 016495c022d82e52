"""The context of a request in logs and ledger entries: id, address and user agent."""

from __future__ import annotations

import re

from apps.core.ids import new_id

SANE_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
MAX_USER_AGENT = 200
"""Characters of a user agent that are kept."""


def request_id_of(given: str) -> str:
    """Return the id that a client sent, or a new one if it sent none that can be kept.

    `given` is the value of `X-Request-Id`, or "".
    """
    return given if SANE_REQUEST_ID.fullmatch(given) else new_id().hex


def request_context(request_id: str, address: str, user_agent: str) -> dict[str, str]:
    """Return the context of a request as entries hold it; what is unknown is absent."""
    values = {
        "request_id": request_id,
        "address": address,
        "user_agent": user_agent[:MAX_USER_AGENT],
    }
    return {name: value for name, value in values.items() if value}
