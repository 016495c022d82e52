"""What people and programs send about webhooks, in its shape."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart, one_line
from apps.webhooks.addresses import url_clean
from apps.webhooks.event_types import EVENT_TYPES
from apps.webhooks.models import MAX_NAME, WebhookKind

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,99}")
OWN_HEADERS = frozenset(
    (
        *("accept-encoding", "content-length", "content-type", "connection", "expect"),
        *("host", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"),
        *("webhook-id", "webhook-signature", "webhook-timestamp"),
    )
)
"""Headers that a webhook sets itself."""


def _url(value: str) -> str:
    try:
        return url_clean(value)
    except ValueError as exc:
        raise PydanticCustomError("url", "{why}", {"why": str(exc)}) from None


def _types(value: list[str]) -> list[str]:
    for name in value:
        if name not in EVENT_TYPES:
            known = ", ".join(EVENT_TYPES)
            raise PydanticCustomError("events", "expected some of " + known)
    return sorted(set(value))


def _header_name(value: str) -> str:
    if not value:
        return value
    if not _HEADER.fullmatch(value) or value.lower() in OWN_HEADERS:
        raise PydanticCustomError("header", "this header cannot be set")
    return value


def _header_value(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if len(text) > 4_000 or not text.isascii() or not text.isprintable():
        raise PydanticCustomError(
            "header", "must be at most 4,000 printable ASCII characters"
        )
    return value


Name = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(one_line)
]
Url = Annotated[str, AfterValidator(_url)]
EventTypes = Annotated[list[str], Field(max_length=50), AfterValidator(_types)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[SecretStr, AfterValidator(_header_value)]


class WebhookInput(InputPart):
    """A new webhook."""

    name: Name
    kind: WebhookKind
    url: Url
    event_types: EventTypes = []
    header_name: HeaderName = ""
    header_value: HeaderValue = SecretStr("")


class WebhookChange(InputPart):
    """What can be changed of a webhook; None: it stays."""

    name: Name | None = None
    url: Url | None = None
    event_types: EventTypes | None = None
    header_name: HeaderName | None = None
    header_value: HeaderValue | None = None
    is_enabled: bool | None = None
