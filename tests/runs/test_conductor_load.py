"""How the queue of a conductor's server is known, and when calls are kept from it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from apps.engine import events as ev
from apps.engine.errors import TRANSIENT_FAULTS, CallFailed, CallFault
from apps.engine.ports import CONDUCTOR, Call, CallParams, Progress
from apps.engine.testing import run_virtual
from apps.llm.chat import ChatClient
from apps.llm.errors import BadResponse, ConnectFailed, LlmError
from apps.llm.http import open_transport
from apps.llm.types import Endpoint
from apps.llm.vllm_metrics import ServerLoad
from apps.runs.execution.circuit_breaker import CircuitBreakers
from apps.runs.execution.conductor_load import (
    BLIND_S,
    FRESH_S,
    IDLE_S,
    READ_S,
    LoadGuard,
    LoadMonitor,
)
from apps.runs.execution.endpoint_client import EndpointClient
from apps.runs.execution.executor import get_executor
from apps.runs.execution.latency_stats import LatencyStats
from tests.conftest import Site
from tests.runs.starting import on_loop, order, run

ENDPOINT = Endpoint("planner", "http://host/v1", "conductor", "key")


class Server:
    """A server whose queue the test sets, and that counts how often it is asked."""

    def __init__(self, waiting: int = 0) -> None:
        self.waiting = waiting
        self.fault: LlmError | None = None
        self.asked: list[Endpoint] = []

    async def read(self, endpoint: Endpoint) -> ServerLoad:
        self.asked.append(endpoint)
        if self.fault is not None:
            raise self.fault
        return ServerLoad(4, self.waiting, 0.5, None, None)


def told(
    work: Callable[[Server, LoadMonitor], Awaitable[None]], max_queue: int = 8
) -> None:
    """Do `work` on a clock of its own."""

    async def main() -> None:
        server = Server()
        queues = LoadMonitor(server.read, max_queue)
        try:
            await work(server, queues)
        finally:
            await queues.close()

    run_virtual(main())


async def tick(seconds: float = READ_S * 1.5) -> None:
    await asyncio.sleep(seconds)


def test_without_a_limit_nobody_is_asked():
    async def work(server: Server, queues: LoadMonitor) -> None:
        server.waiting = 99
        assert queues.admit(ENDPOINT) == 0
        await tick()
        assert queues.admit(ENDPOINT) == 0
        assert server.asked == []

    told(work, max_queue=0)


def test_long_queue_keeps_calls_away_until_it_is_short():
    async def work(server: Server, queues: LoadMonitor) -> None:
        server.waiting = 9
        assert queues.admit(ENDPOINT) == 0  # nothing is known yet
        await tick()
        assert queues.admit(ENDPOINT) == 9
        server.waiting = 8
        await tick()
        assert queues.admit(ENDPOINT) == 0

    told(work)


def test_what_went_out_since_the_reading_waits_too():
    async def work(server: Server, queues: LoadMonitor) -> None:
        server.waiting = 7
        queues.admit(ENDPOINT)
        await tick()
        assert [queues.admit(ENDPOINT) for _ in range(4)] == [0, 0, 9, 9]
        await tick()
        assert queues.admit(ENDPOINT) == 0

    told(work)


def test_server_with_nothing_waiting_takes_what_comes():
    async def work(server: Server, queues: LoadMonitor) -> None:
        queues.admit(ENDPOINT)
        await tick()
        assert {queues.admit(ENDPOINT) for _ in range(50)} == {0}

    told(work)


def test_server_in_use_is_asked_once_a_second_however_many_calls_there_are():
    async def work(server: Server, queues: LoadMonitor) -> None:
        for _ in range(100):
            queues.admit(ENDPOINT)
            await tick(READ_S / 10)
        assert len(server.asked) == 10
        assert server.asked[0].timeouts.total_s <= 2

    told(work)


def test_server_nobody_plans_with_is_left_alone():
    async def work(server: Server, queues: LoadMonitor) -> None:
        queues.admit(ENDPOINT)
        await tick(IDLE_S * 3)
        asked = len(server.asked)
        assert asked <= IDLE_S / READ_S + 1
        await tick(IDLE_S * 3)
        assert len(server.asked) == asked
        queues.admit(ENDPOINT)
        await tick()
        assert len(server.asked) > asked

    told(work)


def test_old_reading_keeps_nobody_away():
    async def work(server: Server, queues: LoadMonitor) -> None:
        server.waiting = 99
        queues.admit(ENDPOINT)
        await tick()
        assert queues.admit(ENDPOINT) == 99
        server.fault = ConnectFailed("gone")
        await tick(FRESH_S + READ_S)
        assert queues.admit(ENDPOINT) == 0
        assert queues.loads() == []

    told(work)


def test_server_that_comes_back_is_read_again():
    async def work(server: Server, queues: LoadMonitor) -> None:
        server.fault = ConnectFailed("gone")
        queues.admit(ENDPOINT)
        await tick()
        server.fault, server.waiting = None, 99
        await tick()
        assert queues.admit(ENDPOINT) == 99

    told(work)


def test_server_without_metrics_is_not_asked_every_second():
    async def work(server: Server, queues: LoadMonitor) -> None:
        server.fault = BadResponse("no vLLM")
        for _ in range(int(BLIND_S) - 1):
            assert queues.admit(ENDPOINT) == 0
            await tick(1)
        assert len(server.asked) == 1

    told(work)


def test_other_key_is_another_watch_and_other_protocols_have_none():
    async def work(server: Server, queues: LoadMonitor) -> None:
        queues.admit(ENDPOINT)
        queues.admit(replace(ENDPOINT, name="same server", model="adapter"))
        queues.admit(replace(ENDPOINT, api_key="other"))
        queues.admit(replace(ENDPOINT, protocol="anthropic", api_key="third"))
        queues.admit(replace(ENDPOINT, base_url="http://host/api"))
        await tick(READ_S / 2)
        assert [each.api_key for each in server.asked] == ["key", "other"]

    told(work)


async def test_conductor_is_shed_and_workers_are_not(simulator_url: str):
    async def read(_: Endpoint) -> ServerLoad:
        seen.set()
        return ServerLoad(4, 9, None, None, None)

    seen = asyncio.Event()
    endpoint = Endpoint("planner", simulator_url, "instant")
    endpoints = {CONDUCTOR: endpoint, "worker": replace(endpoint, name="worker")}
    call = Call(CONDUCTOR, ({"role": "user", "content": "hello"},), CallParams())
    async with open_transport(allowed_networks=["127.0.0.0/8"]) as transport:
        model_client = EndpointClient(
            ChatClient(transport),
            endpoints,
            uuid.uuid4(),
            CircuitBreakers(),
            LatencyStats(),
        )
        queues = LoadMonitor(read, 8)
        guard = LoadGuard(model_client, queues)
        before = [item async for item in guard.stream(call)]
        await seen.wait()
        with pytest.raises(CallFailed) as caught:
            async for _ in guard.stream(call):
                pass
        worker = [item async for item in guard.stream(replace(call, worker="worker"))]
        await queues.close()
    assert before and worker
    assert caught.value.fault is CallFault.QUEUE_FULL
    assert caught.value.message == (
        "'planner': 9 requests wait at its server, more than 8"
    )


def test_full_queue_is_no_reason_to_ask_again():
    assert CallFault.QUEUE_FULL not in TRANSIENT_FAULTS


def test_run_whose_plan_is_shed_is_done_and_says_so(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    class Full(LoadMonitor):
        def admit(self, endpoint: Endpoint) -> int:
            return 9

    async def full() -> LoadMonitor:
        return Full(Server().read, 8)

    monkeypatch.setattr(get_executor(), "queues", on_loop(full()))
    heard = run(order(site.cast, "What is 17 * 23 + 4?"))
    events = [s for s in heard.signals if not isinstance(s, Progress)]
    (failed,) = (e for e in events if isinstance(e, ev.PlanCallFailed))
    (accepted,) = (e for e in events if isinstance(e, ev.PlanAccepted))
    assert failed.fault == CallFault.QUEUE_FULL
    assert (failed.cost_micros, failed.usage.total_tokens) == (0, 0)
    assert accepted.planner == "fallback"
    assert isinstance(events[-1], ev.RunCompleted)
