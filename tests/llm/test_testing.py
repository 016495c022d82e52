"""The scripted provider that ships for tests keeps its own promises."""

from __future__ import annotations

import asyncio

import pytest

from apps.llm.errors import ServerFailed
from apps.llm.testing import FakeProvider, answer_script
from tests.llm.conftest import KEY, endpoint_of


async def test_scripts_are_used_in_turn_then_the_default(client, question):
    async with FakeProvider(answer_script("a"), default=answer_script("b")) as provider:
        endpoint = endpoint_of(provider)
        texts = [(await client.complete(endpoint, question))[0].text for _ in "123"]
    assert texts == ["a", "b", "b"]


async def test_request_beyond_the_script_is_a_server_error(client, question):
    async with FakeProvider() as provider:
        with pytest.raises(ServerFailed, match="script has ended"):
            await client.complete(endpoint_of(provider), question)


async def test_record_holds_the_body_and_hides_the_key(client, question):
    async with FakeProvider(answer_script()) as provider:
        await client.complete(endpoint_of(provider), question)
    assert provider.requests[0].json()["messages"] == list(question.messages)
    assert KEY not in repr(provider.requests)


async def test_half_a_request_is_not_recorded():
    async with FakeProvider() as provider:
        host, port = provider.base_url.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST / HTTP/1.1\r\n")
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert not provider.requests
