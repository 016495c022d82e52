"""Price lists for tests, and servers of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from apps.llm.testing import FakeProvider, Script, json_script
from apps.pools.services import price_list_refresh
from apps.pools.types import RefreshOutcome

ACME_URL = "https://api.acme.example/v1"
"""Where the provider of these lists is."""
PATTERN = r"https://api\.acme\.example"


def model_of(name: str = "acme-1", **changes: Any) -> dict[str, Any]:
    """Return a model at two dollars in and eight dollars out per million tokens."""
    prices = {"input_mtok": 2, "output_mtok": 8}
    return {"id": name, "match": {"equals": name}, "prices": prices, **changes}


def priced(**prices: Any) -> dict[str, Any]:
    """Return the usual model with these prices."""
    return model_of(prices=prices)


def list_of(*models: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    """Return a list of one provider with these models, or the usual one."""
    provider = {"id": "acme", "name": "Acme", "api_pattern": PATTERN, **changes}
    return [{**provider, "models": list(models or (model_of(),))}]


def document_of(*models: dict[str, Any], **changes: Any) -> bytes:
    """Return such a list as it is served."""
    return orjson.dumps(list_of(*models, **changes))


def served(document: bytes, **options: Any) -> Script:
    """Return the answer that is a document."""
    return Script((document,), **options)


@contextmanager
def list_server(*scripts: Script, default: Script | None = None) -> Iterator[Any]:
    """Run a scripted server in a thread; yields it, its address is `base_url`."""
    server = FakeProvider(*scripts, default=default)
    is_up, loop = threading.Event(), asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        async with server:
            is_up.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert is_up.wait(10), "the server did not start"
        yield server
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(10)
        loop.close()


def keep_list(settings: Any, *models: dict[str, Any]) -> None:
    """Let the site use a list of the usual provider, as if it had fetched it."""
    with list_server(json_script(list_of(*models))) as server:
        settings.PRICE_LIST_URL = server.base_url
        assert price_list_refresh().outcome is RefreshOutcome.REPLACED
