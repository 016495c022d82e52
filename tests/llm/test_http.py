"""Time limits and connections, against servers that do not behave."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from types import SimpleNamespace

import pytest

from apps.llm.address_policy import AddressPolicy
from apps.llm.chat import ChatClient
from apps.llm.errors import (
    BadResponse,
    ConnectFailed,
    FirstByteTimeout,
    IdleTimeout,
    Incomplete,
    TotalTimeout,
)
from apps.llm.http import MAX_INFORMATIONAL, open_transport
from apps.llm.testing import (
    FakeProvider,
    Script,
    answer_script,
    chunk_event,
    events_script,
)
from apps.llm.types import Timeouts
from tests.llm.conftest import endpoint_of

SOON_S = 0.05
LATE_S = 20.0
HINT = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"


def limits(**soon: float) -> Timeouts:
    late = dict.fromkeys(("connect_s", "first_byte_s", "idle_s", "total_s"), LATE_S)
    return Timeouts(**(late | soon))


async def read(client: ChatClient, endpoint, question) -> None:
    async for _ in client.stream(endpoint, question):
        pass


@pytest.fixture
def full_port() -> Iterator[int]:
    """Give a port whose queue of connections is full, so that none is accepted."""
    with socket.socket() as server, socket.socket() as first, socket.socket() as second:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        yield port


async def test_connection_nobody_accepts_times_out(client, question, full_port):
    endpoint = endpoint_of(f"http://127.0.0.1:{full_port}/v1", limits(connect_s=SOON_S))
    with pytest.raises(ConnectFailed, match="in time"):
        await client.complete(endpoint, question)


async def test_refused_connection_is_a_connect_fault(client, question):
    async with FakeProvider() as provider:
        endpoint = endpoint_of(provider)
    with pytest.raises(ConnectFailed, match="refused"):
        await client.complete(endpoint, question)


async def test_server_without_tls_is_a_connect_fault(client, question):
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        writer.write(b"220 this is not TLS\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectFailed, match="TLS"):
            await client.complete(endpoint_of(f"https://127.0.0.1:{port}/v1"), question)


async def test_tls_handshake_nobody_answers_times_out(client, question):
    async with FakeProvider() as provider:
        url = provider.base_url.replace("http:", "https:")
        with pytest.raises(ConnectFailed, match="in time"):
            await client.complete(endpoint_of(url, limits(connect_s=SOON_S)), question)


async def test_unknown_name_is_a_connect_fault(client, question, monkeypatch):
    def no_such_name(*_args, **_kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", no_such_name)
    with pytest.raises(ConnectFailed, match="name is not known"):
        await client.complete(endpoint_of("http://models.invalid/v1"), question)


@pytest.mark.parametrize(
    "url",
    ["ftp://h/v1", "http://", "http://[::1", "http://u:p@h/v1", "http://a..b/v1", ""],
)
async def test_address_that_cannot_be_used_is_a_connect_fault(client, question, url):
    with pytest.raises(ConnectFailed, match="usable"):
        await client.complete(endpoint_of(url), question)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001"])
async def test_forbidden_address_is_never_connected_to(question, host):
    async with FakeProvider(default=answer_script()) as provider, open_transport() as t:
        url = provider.base_url.replace("127.0.0.1", host)
        with pytest.raises(ConnectFailed, match="allowed network"):
            await ChatClient(t).complete(endpoint_of(url), question)
    assert not provider.requests


async def test_name_that_changes_its_mind_is_never_connected_to(question, monkeypatch):
    lookup = socket.getaddrinfo
    names: list[str] = []

    def rebound(host, port, *args, **kwargs):
        names.append(host)
        return lookup("127.0.0.1", port, *args, **kwargs)

    async with FakeProvider(default=answer_script()) as provider, open_transport() as t:
        monkeypatch.setattr(socket, "getaddrinfo", rebound)
        url = provider.base_url.replace("127.0.0.1", "models.example")
        AddressPolicy().check_url(url)
        with pytest.raises(ConnectFailed, match="allowed network"):
            await ChatClient(t).complete(endpoint_of(url), question)
    assert names == ["models.example"]
    assert not provider.requests


async def test_port_that_is_not_listed_is_never_connected_to(question):
    async with (
        FakeProvider(default=answer_script()) as provider,
        open_transport(allowed_networks=["127.0.0.0/8"], allowed_ports=["1"]) as t,
    ):
        with pytest.raises(ConnectFailed, match="allowed network"):
            await ChatClient(t).complete(endpoint_of(provider), question)
    assert not provider.requests


async def test_proxy_of_the_environment_is_not_used(question, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with (
        FakeProvider(answer_script()) as provider,
        open_transport(allowed_networks=["127.0.0.0/8"]) as transport,
    ):
        await ChatClient(transport).complete(endpoint_of(provider), question)
    assert len(provider.requests) == 1


async def test_no_cookie_is_sent_back(client, question):
    script = answer_script()
    cookie = Script(script.parts, headers=[*script.headers, ("set-cookie", "a=b")])
    async with FakeProvider(cookie, script) as provider:
        # By name: cookies are never kept for a bare address anyway.
        endpoint = endpoint_of(provider.base_url.replace("127.0.0.1", "localhost"))
        for _ in range(2):
            await client.complete(endpoint, question)
    assert "cookie" not in provider.requests[1].headers


async def test_server_that_never_answers_times_out(client, question):
    async with FakeProvider(Script(before_head=asyncio.Event())) as provider:
        endpoint = endpoint_of(provider, limits(first_byte_s=SOON_S))
        with pytest.raises(FirstByteTimeout):
            await read(client, endpoint, question)
        async with asyncio.timeout(5):
            await provider.requests[0].client_closed.wait()


async def test_plain_answer_may_take_its_whole_time_to_begin(client, question):
    async with FakeProvider(Script(before_head=asyncio.Event())) as provider:
        endpoint = endpoint_of(provider, limits(first_byte_s=0.001, total_s=SOON_S))
        with pytest.raises(TotalTimeout):
            await client.complete(endpoint, question)


async def test_head_without_a_body_is_no_first_byte(client, question):
    async with FakeProvider(events_script(asyncio.Event())) as provider:
        endpoint = endpoint_of(provider, limits(first_byte_s=SOON_S))
        with pytest.raises(FirstByteTimeout):
            await read(client, endpoint, question)


async def test_stream_that_falls_silent_times_out(client, question):
    script = events_script(chunk_event({"content": "Hi"}), asyncio.Event())
    async with FakeProvider(script) as provider:
        endpoint = endpoint_of(provider, limits(idle_s=SOON_S))
        with pytest.raises(IdleTimeout):
            await read(client, endpoint, question)
        async with asyncio.timeout(5):
            await provider.requests[0].client_closed.wait()


@pytest.mark.parametrize("is_begun", [True, False])
async def test_call_over_its_total_time_ends(client, question, is_begun):
    parts = [chunk_event({"content": "Hi"})] if is_begun else []
    async with FakeProvider(events_script(*parts, asyncio.Event())) as provider:
        endpoint = endpoint_of(provider, limits(total_s=SOON_S))
        with pytest.raises(TotalTimeout):
            await read(client, endpoint, question)


async def test_total_time_holds_on_a_loop_whose_timers_tell_no_time(
    client, question, monkeypatch
):
    loop = asyncio.get_running_loop()
    call_at = loop.call_at

    def untold(*args, **kwargs):
        """Do what uvloop does for a time that is as good as now."""
        return SimpleNamespace(cancel=call_at(*args, **kwargs).cancel)

    script = events_script(chunk_event({"content": "Hi"}), asyncio.Event())
    async with FakeProvider(script) as provider:
        endpoint = endpoint_of(provider, limits(total_s=SOON_S))
        with monkeypatch.context() as patch, pytest.raises(TotalTimeout):
            patch.setattr(loop, "call_at", untold)
            await read(client, endpoint, question)


async def test_total_time_counts_even_before_the_head(client, question):
    async with FakeProvider(Script(before_head=asyncio.Event())) as provider:
        endpoint = endpoint_of(provider, limits(total_s=SOON_S))
        with pytest.raises(TotalTimeout):
            await client.complete(endpoint, question)


async def test_pool_without_a_free_connection_is_a_connect_fault(question):
    async with (
        FakeProvider(Script(before_head=asyncio.Event())) as provider,
        open_transport(allowed_networks=["127.0.0.0/8"], max_connections=1) as t,
    ):
        client = ChatClient(t)
        first = asyncio.create_task(client.complete(endpoint_of(provider), question))
        await provider.arrived.wait()
        with pytest.raises(ConnectFailed, match="in time"):
            await client.complete(
                endpoint_of(provider, limits(connect_s=SOON_S)), question
            )
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def test_cancelled_call_gives_its_connection_back(question):
    async with (
        FakeProvider(
            Script(before_head=asyncio.Event()), default=answer_script()
        ) as provider,
        open_transport(allowed_networks=["127.0.0.0/8"], max_connections=1) as t,
    ):
        client = ChatClient(t)
        first = asyncio.create_task(client.complete(endpoint_of(provider), question))
        await provider.arrived.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert (await client.complete(endpoint_of(provider), question))[0].text


async def test_closed_transport_refuses_new_calls(question):
    async with open_transport(allowed_networks=["127.0.0.0/8"]) as transport:
        pass
    with pytest.raises(ConnectFailed, match="shutting down"):
        await ChatClient(transport).complete(endpoint_of("http://h/v1"), question)


async def test_closing_the_transport_ends_calls_in_flight(question):
    async with FakeProvider(Script(before_head=asyncio.Event())) as provider:
        async with open_transport(allowed_networks=["127.0.0.0/8"]) as transport:
            call = asyncio.create_task(
                ChatClient(transport).complete(endpoint_of(provider), question)
            )
            await provider.arrived.wait()
        with pytest.raises(Incomplete):
            await call


@asynccontextmanager
async def answering(data: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """Serve `data` as the answer to every call; yield the address and each call.

    A call is named by the number of its connection.
    """
    calls: list[int] = []
    connections = count(1)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        number = next(connections)
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"Hi"):  # the question ends the request
                calls.append(number)
                writer.write(data)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", calls


@pytest.mark.parametrize("hints", [1, MAX_INFORMATIONAL])
async def test_informational_responses_are_passed_over(client, question, hints):
    body = b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with answering(HINT * hints + head + body) as (url, calls):
        for _ in range(2):
            told, _ = await client.complete(endpoint_of(url), question)
            assert told.text == "Hi"
    assert calls == [1, 1]  # the second call on the same connection counts anew


async def test_endless_informational_responses_end_the_call(client, question):
    """T1: a provider cannot keep a call busy before its response begins."""
    async with answering(HINT * (MAX_INFORMATIONAL + 1)) as (url, _):
        with pytest.raises(BadResponse, match="not HTTP"):
            await client.complete(endpoint_of(url), question)
