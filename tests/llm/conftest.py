"""A client that may reach loopback, and a way to point it at a provider."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from apps.llm.chat import ChatClient
from apps.llm.http import HttpTransport, open_transport
from apps.llm.testing import FakeProvider
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish, Timeouts

KEY = "sk-canary-0123456789"
PATIENT = Timeouts(connect_s=10, first_byte_s=10, idle_s=10, total_s=30)


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    async with open_transport(allowed_networks=("127.0.0.0/8",)) as opened:
        yield opened


@pytest.fixture
def client(transport: HttpTransport) -> ChatClient:
    return ChatClient(transport)


@pytest.fixture
def question() -> ChatRequest:
    return ChatRequest([{"role": "user", "content": "Hi"}])


def endpoint_of(
    provider: FakeProvider | str, timeouts: Timeouts = PATIENT, api_key: str = KEY
) -> Endpoint:
    base_url = provider if isinstance(provider, str) else provider.base_url
    return Endpoint("worker-a", base_url, "model-a", api_key, timeouts)


def joined(items: list[Delta | Finish]) -> list[Delta | Finish]:
    """Return the deltas as one, and the rest: how they are cut is the network's."""
    deltas = [item for item in items if isinstance(item, Delta)]
    text = "".join(delta.text for delta in deltas)
    reasoning = "".join(delta.reasoning for delta in deltas)
    calls = tuple(call for delta in deltas for call in delta.tool_calls)
    finishes = [item for item in items if isinstance(item, Finish)]
    assert items[len(deltas) :] == finishes, "nothing comes after the finish"
    return [Delta(text, reasoning, calls), *finishes]
