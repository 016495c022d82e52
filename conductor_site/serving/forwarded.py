"""The site behind proxies whose addresses are not known: `FORWARDED_ALLOW_IPS=*`.

uvicorn would believe the leftmost address of `X-Forwarded-For` then, which is whatever
a client wrote there. Here the rightmost counts: what the nearest proxy has appended,
which is the one that connects to this process.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
App = Callable[[Message, Any, Any], Awaitable[None]]
SCHEMES = {"http", "https"}


class NearestProxy:
    """Believes what the connecting proxy says of its own client."""

    def __init__(self, inner: App) -> None:
        self.inner = inner

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            _believe(scope)
        await self.inner(scope, receive, send)


def _believe(scope: Message) -> None:
    headers = scope["headers"]
    address = _address(_last(headers, b"x-forwarded-for"))
    if address:
        scope["client"] = (address, 0)
    scheme = _last(headers, b"x-forwarded-proto").lower()
    if scheme in SCHEMES:
        is_socket = scope["type"] == "websocket"
        scope["scheme"] = scheme.replace("http", "ws") if is_socket else scheme


def _last(headers: list[tuple[bytes, bytes]], wanted: bytes) -> str:
    """Return the last part of the last header of this name; empty: there is none."""
    values = [value for name, value in headers if name == wanted]
    return values[-1].decode("latin-1").rpartition(",")[2].strip() if values else ""


def _address(text: str) -> str:
    """Return the address in `1.2.3.4`, `1.2.3.4:5`, `::1` or `[::1]:5`; or empty."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


async def application(scope: Message, receive: Any, send: Any) -> None:
    """Serve the site."""
    from conductor_site.asgi import application as site  # sets Django up

    await NearestProxy(site)(scope, receive, send)
