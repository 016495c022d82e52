"""The names of models in the form of Anthropic's API, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from apps.core.errors import InvalidInput
from apps.gateway.exchange import Exchange

PAGE, MAX_PAGE = 20, 1000
"""Names of a page: if the request does not say, and at most."""


def speaks_anthropic(exchange: Exchange) -> bool:
    """Say whether the client speaks Anthropic's protocol: it names its version."""
    return b"anthropic-version" in exchange.headers


def model_page(
    names: Sequence[str], query: dict[str, str], created: int
) -> dict[str, Any]:
    """Return one page of `names`; `created`: of all of them, in Unix seconds.

    Raises: InvalidInput if the query asks for none that there is.
    """
    limit = _limit(query.get("limit"))
    after, before = query.get("after_id"), query.get("before_id")
    if after is not None and before is not None:
        raise InvalidInput("after_id: goes not with before_id", param="after_id")
    if after is not None:
        rest = names[_place(names, after, "after_id") + 1 :]
        shown, has_more = rest[:limit], len(rest) > limit
    elif before is not None:
        rest = names[: _place(names, before, "before_id")]
        shown, has_more = rest[-limit:], len(rest) > limit
    else:
        shown, has_more = names[:limit], len(names) > limit
    return {
        "data": [model_document(name, created) for name in shown],
        "has_more": has_more,
        "first_id": shown[0] if shown else None,
        "last_id": shown[-1] if shown else None,
    }


def model_document(name: str, created: int) -> dict[str, Any]:
    """Return one model."""
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": datetime.fromtimestamp(created, UTC).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        ),
        "lifecycle": "active",
    }


def _limit(text: str | None) -> int:
    if text is None:
        return PAGE
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text) <= MAX_PAGE:
        raise InvalidInput(
            f"limit: expected a whole number from 1 to {MAX_PAGE}", param="limit"
        )
    return int(text)


def _place(names: Sequence[str], name: str, where: str) -> int:
    if name not in names:
        raise InvalidInput(f"{where}: there is no model {name[:100]!r}", param=where)
    return names.index(name)
