"""T15: behind proxies that are not named, what a client writes is not believed."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_site.serving.forwarded import NearestProxy

PROXY = ("10.0.0.9", 40_000)


async def seen(*headers: tuple[bytes, bytes], kind: str = "http") -> dict[str, Any]:
    """Return the scope that the site gets."""
    found: dict[str, Any] = {}

    async def site(scope: Any, receive: Any, send: Any) -> None:
        found.update(scope)

    scheme = "http" if kind == "http" else "ws"
    scope = {"type": kind, "headers": list(headers), "client": PROXY, "scheme": scheme}
    await NearestProxy(site)(scope, None, None)
    return found


@pytest.mark.parametrize(
    ("value", "address"),
    [
        (b"192.0.2.7", "192.0.2.7"),
        (b"198.51.100.1, 192.0.2.7", "192.0.2.7"),
        (b"198.51.100.1,192.0.2.7:4711", "192.0.2.7"),
        (b"2001:db8::1", "2001:db8::1"),
        (b"x, [2001:db8::1]:4711", "2001:db8::1"),
        (b"192.0.2.7, unknown", PROXY[0]),
        (b"", PROXY[0]),
    ],
)
async def test_the_last_address_is_the_clients(value: bytes, address: str):
    """T15: the leftmost is whatever the client wrote."""
    scope = await seen((b"x-forwarded-for", value))
    assert scope["client"][0] == address


async def test_the_last_of_several_headers_counts():
    scope = await seen(
        (b"x-forwarded-for", b"198.51.100.1"), (b"x-forwarded-for", b"192.0.2.7")
    )
    assert scope["client"][0] == "192.0.2.7"


@pytest.mark.parametrize(("kind", "scheme"), [("http", "https"), ("websocket", "wss")])
async def test_the_scheme_is_what_the_proxy_was_asked_with(kind: str, scheme: str):
    scope = await seen((b"x-forwarded-proto", b"http, https"), kind=kind)
    assert scope["scheme"] == scheme


async def test_what_says_nothing_changes_nothing():
    scope = await seen((b"x-forwarded-proto", b"gopher"))
    assert (scope["client"], scope["scheme"]) == (PROXY, "http")
