"""Endpoints that keep failing rest, and come back."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from apps.engine.errors import TRANSIENT_FAULTS, CallFailed, CallFault
from apps.engine.ports import Call, CallParams, Message
from apps.llm.chat import ChatClient
from apps.llm.http import open_transport
from apps.llm.types import Endpoint
from apps.pools.models import Worker
from apps.pools.types import HealthState
from apps.runs.execution import executor as executor_module
from apps.runs.execution.circuit_breaker import (
    FAILURES,
    REST_S,
    WINDOW_S,
    CircuitBreakers,
    circuit_key,
)
from apps.runs.execution.endpoint_client import EndpointClient
from apps.runs.execution.latency_stats import LatencyStats
from apps.runs.selectors import worker_healths

TEAM = uuid.uuid4()
KEY = (TEAM, "http://host/v1", "model")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuit_breakers(clock: Clock) -> CircuitBreakers:
    return CircuitBreakers(clock)


def fail(circuit_breakers: CircuitBreakers, times: int = FAILURES) -> None:
    for _ in range(times):
        circuit_breakers.failed(KEY, CallFault.SERVER_ERROR)


def test_five_failures_in_a_row_open_it(circuit_breakers: CircuitBreakers):
    fail(circuit_breakers, FAILURES - 1)
    assert circuit_breakers.admit(KEY) == 0
    fail(circuit_breakers, 1)
    assert circuit_breakers.admit(KEY) == REST_S
    assert circuit_breakers.is_open(KEY)


def test_success_between_failures_keeps_it_closed(circuit_breakers: CircuitBreakers):
    fail(circuit_breakers, FAILURES - 1)
    circuit_breakers.succeeded(KEY)
    fail(circuit_breakers, FAILURES - 1)
    assert circuit_breakers.admit(KEY) == 0


def test_D14_failures_age(circuit_breakers: CircuitBreakers, clock: Clock):
    fail(circuit_breakers, FAILURES - 1)
    clock.now += WINDOW_S + 1
    fail(circuit_breakers, 1)
    assert circuit_breakers.admit(KEY) == 0
    fail(circuit_breakers, FAILURES - 1)
    assert circuit_breakers.admit(KEY) == REST_S


def test_D14_a_window_of_failures_slides(
    circuit_breakers: CircuitBreakers, clock: Clock
):
    for _ in range(FAILURES - 1):
        fail(circuit_breakers, 1)
        clock.now += WINDOW_S / FAILURES
    assert circuit_breakers.admit(KEY) == 0
    fail(circuit_breakers, 1)
    assert circuit_breakers.is_open(KEY)


def test_D14_a_circuit_that_nobody_tried_for_long_is_closed(
    circuit_breakers: CircuitBreakers, clock: Clock
):
    fail(circuit_breakers)
    clock.now += WINDOW_S + 1
    assert [circuit_breakers.admit(KEY) for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(
    "fault",
    [CallFault.RATE_LIMITED, CallFault.BAD_REQUEST, CallFault.UNAUTHORIZED],
)
def test_refusal_proves_that_somebody_is_there(
    circuit_breakers: CircuitBreakers, fault: CallFault
):
    fail(circuit_breakers, FAILURES - 1)
    circuit_breakers.failed(KEY, fault)
    fail(circuit_breakers, FAILURES - 1)
    assert circuit_breakers.admit(KEY) == 0


def test_one_call_goes_through_after_the_rest(
    circuit_breakers: CircuitBreakers, clock: Clock
):
    fail(circuit_breakers)
    clock.now += REST_S
    assert not circuit_breakers.is_open(KEY)
    assert [circuit_breakers.admit(KEY) for _ in range(3)] == [0, REST_S, REST_S]


def test_failing_again_rests_again_and_answering_closes(
    circuit_breakers: CircuitBreakers, clock: Clock
):
    fail(circuit_breakers)
    clock.now += REST_S
    circuit_breakers.admit(KEY)
    fail(circuit_breakers, 1)
    assert circuit_breakers.admit(KEY) == REST_S
    circuit_breakers.succeeded(KEY)
    assert circuit_breakers.admit(KEY) == 0


def test_circuit_of_another_team_stays_closed(circuit_breakers: CircuitBreakers):
    fail(circuit_breakers)
    assert circuit_breakers.admit((uuid.uuid4(), *KEY[1:])) == 0


def test_resting_worker_is_not_asked_again_by_the_same_step():
    assert CallFault.CIRCUIT_OPEN not in TRANSIENT_FAULTS


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_resting_endpoint_is_not_called(
    simulator_url: str,
    circuit_breakers: CircuitBreakers,
    clock: Clock,
    is_streamed: bool,
):
    endpoint = Endpoint("shaky", simulator_url, "fault-500")
    messages = (Message(role="user", content="hello"),)
    call = Call("shaky", messages, CallParams(), is_streamed)

    async def outcome(model_client: EndpointClient) -> CallFailed:
        with pytest.raises(CallFailed) as caught:
            async for _ in model_client.stream(call):
                pass
        return caught.value

    async with open_transport(allowed_networks=["127.0.0.0/8"]) as transport:
        client = ChatClient(transport)
        model_client = EndpointClient(
            client, {"shaky": endpoint}, TEAM, circuit_breakers, LatencyStats()
        )
        faults = [(await outcome(model_client)).fault for _ in range(FAILURES)]
        resting = await outcome(model_client)
        endpoints = {"shaky": Endpoint("shaky", simulator_url, "instant")}
        well = EndpointClient(client, endpoints, TEAM, circuit_breakers, LatencyStats())
        answered = [item async for item in well.stream(call)]
    assert set(faults) == {CallFault.SERVER_ERROR}
    assert resting.fault is CallFault.CIRCUIT_OPEN
    assert "'shaky': failed 5 times in a row" in resting.message
    assert "30 s more" in resting.message
    assert answered  # another model of the same server goes on working
    assert circuit_breakers.is_open(circuit_key(TEAM, endpoint))


def test_health_says_that_a_worker_rests(
    site: Any, monkeypatch: pytest.MonkeyPatch, circuit_breakers: CircuitBreakers
):
    team = site.cast.team
    worker = Worker.objects.for_team(team.id).first()
    assert worker is not None
    for _ in range(FAILURES):
        circuit_breakers.failed(
            (team.id, worker.base_url, worker.model), CallFault.SERVER_ERROR
        )
    monkeypatch.setattr(
        executor_module.get_executor(), "circuit_breakers", circuit_breakers
    )
    health = worker_healths(team.id, Worker.objects.for_team(team.id))
    states = {each.state for each in health.values()}
    assert health[worker.id].state is HealthState.RESTING
    assert states == {HealthState.RESTING, HealthState.UNTESTED}
