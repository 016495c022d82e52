"""Trying models out, on simulated ones: every fault is a result, and is on record."""

from __future__ import annotations

import asyncio
import socket
import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async as in_thread

from apps.accounts.models import Team
from apps.core.errors import NotFound
from apps.llm.testing.server import FakeProvider, Script
from apps.pools.capability_probes import PROBES
from apps.pools.errors import ProviderFailed, TooManyModelCalls
from apps.pools.models import Credential, Worker
from apps.pools.selectors import access_worker, last_test, pool_snapshot, worker_health
from apps.pools.services import (
    conductor_test,
    model_tests,
    models_fetch,
    worker_delete,
    worker_test,
    worker_update,
)
from apps.pools.types import HealthState
from apps.simulator.app import create_app
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.pools.making import (
    CANARY,
    entries,
    make_conductor,
    make_credential,
    make_pool,
    make_worker,
)
from tests.serving import serving


def tried(worker: Worker) -> Any:
    test = async_to_sync(worker_test)
    return test(team_id=worker.team_id, worker_id=worker.id, actor=ACTOR)


def tried_conductor(team: Team, conductor_id: uuid.UUID) -> Any:
    test = async_to_sync(conductor_test)
    return test(team_id=team.id, conductor_id=conductor_id, actor=ACTOR)


def test_model_that_answers_passes(cast: Cast, simulator_url: str):
    worker = make_worker(cast.team, base_url=simulator_url, model="sim-delta")
    result = tried(worker)
    assert (result.ok, result.error_code, result.message) == (True, "", "")
    assert result.answer
    assert result.model == "sim-delta"
    assert 0 <= result.latency_ms < 60_000


@pytest.mark.parametrize(
    ("protocol", "path"), [("openai", "v1"), ("anthropic", "v1"), ("gemini", "v1beta")]
)
def test_model_shows_its_abilities_over_every_protocol(
    cast: Cast, simulator_url: str, protocol: str, path: str
):
    base_url = simulator_url.replace("/v1", f"/{path}")
    worker = make_worker(
        cast.team, base_url=base_url, model="sim-delta", protocol=protocol
    )
    result = tried(worker)
    assert (result.ok, result.message, result.model) == (True, "", "sim-delta")
    assert "42" in result.answer
    assert result.abilities == dict.fromkeys(PROBES, True)
    assert entries(cast.team)[-1].data["abilities"] == result.abilities


def test_wrong_protocol_is_a_result(cast: Cast, simulator_url: str):
    for protocol in ("gemini", "anthropic"):
        worker = make_worker(
            cast.team,
            name=protocol,
            base_url=f"{simulator_url}/x",
            protocol=protocol,
            model="sim-delta",
        )
        assert (tried(worker).ok, tried(worker).error_code) == (False, "not_found")


def test_model_that_fails_is_asked_nothing_more(cast: Cast, simulator_url: str):
    worker = make_worker(cast.team, base_url=simulator_url, model="fault-500")
    assert tried(worker).abilities == {}


def test_result_of_before_abilities_is_read(cast: Cast, simulator_url: str):
    worker = make_worker(cast.team, base_url=simulator_url, model="sim-delta")
    tried(worker)
    worker.refresh_from_db()
    assert worker.last_test is not None
    del worker.last_test["abilities"]
    kept = last_test(worker)
    assert kept is not None
    assert kept.abilities == {}


def test_result_is_kept_and_recorded(cast: Cast, simulator_url: str):
    worker = make_worker(cast.team, base_url=simulator_url, model="sim-delta")
    result = tried(worker)
    assert last_test(access_worker(cast.team.id, worker.id)) == result
    entry = entries(cast.team)[-1]
    assert (entry.action, entry.outcome) == ("worker.tested", "success")
    assert entry.subject_id == worker.id
    assert entry.data["latency_ms"] == result.latency_ms


def test_test_is_no_new_version(cast: Cast, simulator_url: str):
    worker = make_worker(cast.team, base_url=simulator_url, model="sim-delta")
    make_pool(cast.team, worker)
    tried(worker)
    assert pool_snapshot(cast.team.id).version == 1


def test_conductor_is_tried_like_a_worker(cast: Cast, simulator_url: str):
    row = make_conductor(cast.team, base_url=simulator_url, model="sim-conductor")
    result = tried_conductor(cast.team, row.id)
    assert result.ok
    row.refresh_from_db()
    assert last_test(row) == result
    assert entries(cast.team)[-1].action == "conductor.tested"


@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        ("fault-401", "unauthorized", "401"),
        ("fault-html", "unusable_response", "not an event stream"),
        ("fault-redirect", "bad_response", "a redirect to /v1/chat/completions/"),
        ("fault-refuse", "incomplete", "closed the connection"),
        ("fault-429", "rate_limited", "429"),
        ("fault-500", "server_error", "500"),
        ("fault-cut", "incomplete", "cut off"),
        ("fault-bad-json", "bad_response", "not JSON"),
        ("fault-error-event", "server_error", "crashed"),
        ("no-such-model", "not_found", "does not exist"),
    ],
)
def test_fault_is_a_result_in_words(
    cast: Cast, simulator_url: str, model: str, code: str, words: str
):
    result = tried(make_worker(cast.team, base_url=simulator_url, model=model))
    assert (result.ok, result.error_code, result.answer) == (False, code, "")
    assert words in result.message
    assert "strong" in result.message
    entry = entries(cast.team)[-1]
    assert (entry.outcome, entry.data["error_code"]) == ("failure", code)


def test_refused_connection_is_a_result(cast: Cast):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        result = tried(make_worker(cast.team, base_url=url))
    assert (result.ok, result.error_code) == (False, "connect")
    assert "refused" in result.message


def test_silent_server_ends_within_the_limit(
    cast: Cast, simulator_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(model_tests, "MAX_TEST_S", 0.2)
    result = tried(make_worker(cast.team, base_url=simulator_url, model="fault-stall"))
    assert (result.ok, result.error_code) == (False, "total_timeout")


def test_address_that_was_forbidden_meanwhile_is_a_result(
    cast: Cast, simulator_url: str, settings: Any
):
    worker = make_worker(cast.team, base_url=simulator_url, model="sim-delta")
    settings.MODEL_NETWORKS = []
    result = tried(worker)
    assert (result.ok, result.error_code) == (False, "connect")
    assert "allowed network" in result.message


def test_port_outside_of_the_listed_ones_is_not_reached(
    cast: Cast, simulator_url: str, settings: Any
):
    worker = make_worker(cast.team, base_url=simulator_url, model="sim-delta")
    settings.MODEL_PORTS = ["1"]
    assert tried(worker).error_code == "connect"


def test_key_is_sent_and_never_shown(cast: Cast):
    with serving(create_app(speed=0, api_key=CANARY), ws="none") as url:
        for secret, is_right in ((CANARY, True), (f"{CANARY}-wrong", False)):
            base_url = f"{url}/v1"
            key = make_credential(
                cast.team, name=f"right: {is_right}", base_url=base_url, secret=secret
            )
            worker = make_worker(
                cast.team,
                name=f"w-{is_right}",
                base_url=base_url,
                model="sim-delta",
                credential_id=str(key.id),
            )
            result = tried(worker)
            assert result.ok is is_right
            shown = [result, entries(cast.team), access_worker(cast.team.id, worker.id)]
            assert CANARY not in repr(shown)


def test_credential_that_does_not_open_is_a_result(cast: Cast, simulator_url: str):
    key = make_credential(cast.team, base_url=simulator_url)
    worker = make_worker(
        cast.team, base_url=simulator_url, credential_id=str(key.id), model="sim-delta"
    )
    Credential.objects.for_team(cast.team.id).update(host="evil.example:443")
    result = tried(worker)
    assert (result.ok, result.error_code) == (False, "credential_host_mismatch")


def test_worker_of_another_team_is_not_found(cast: Cast, simulator_url: str):
    worker = make_worker(cast.other_team, base_url=simulator_url)
    with pytest.raises(NotFound):
        async_to_sync(worker_test)(
            team_id=cast.team.id, worker_id=worker.id, actor=ACTOR
        )
    with pytest.raises(NotFound):
        tried_conductor(cast.team, uuid.uuid4())
    assert entries(cast.team)[-1].action == "api_key.issued"


async def test_worker_deleted_during_the_test_is_not_found(cast: Cast):
    may_answer = asyncio.Event()
    make, delete = in_thread(make_worker), in_thread(worker_delete)
    async with FakeProvider(default=Script(before_head=may_answer)) as provider:
        worker = await make(cast.team, base_url=provider.base_url)
        testing = asyncio.create_task(
            worker_test(team_id=cast.team.id, worker_id=worker.id, actor=ACTOR)
        )
        await provider.arrived.wait()
        await delete(worker=worker, actor=ACTOR)
        may_answer.set()
        with pytest.raises(NotFound, match="meanwhile"):
            await testing
    assert (await in_thread(entries)(cast.team))[-1].action == "worker.deleted"


async def test_team_at_its_limit_is_refused_at_once_and_another_is_not(
    cast: Cast, settings: Any
):
    """T2: what a team has under way beside its runs is bounded."""
    settings.MODEL_CALLS_PER_TEAM = 1
    may_answer = asyncio.Event()
    make = in_thread(make_worker)
    async with FakeProvider(default=Script(before_head=may_answer)) as provider:
        worker = await make(cast.team, base_url=provider.base_url)
        testing = asyncio.create_task(
            worker_test(team_id=cast.team.id, worker_id=worker.id, actor=ACTOR)
        )
        await provider.arrived.wait()
        listed = provider.base_url
        with pytest.raises(TooManyModelCalls, match="which is its limit") as refused:
            await models_fetch(team_id=cast.team.id, base_url=listed)
        assert refused.value.retry_after_s
        may_answer.set()
        with pytest.raises(ProviderFailed):  # it got an answer, if no list
            await models_fetch(team_id=cast.other_team.id, base_url=listed)
        await testing
        with pytest.raises(ProviderFailed):  # the slot is free again
            await models_fetch(team_id=cast.team.id, base_url=listed)


# --- health --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "failures", "state"),
    [
        (0, 0, HealthState.UNTESTED),
        (10, 0, HealthState.HEALTHY),
        (100, 9, HealthState.HEALTHY),
        (10, 1, HealthState.DEGRADED),
        (10, 5, HealthState.FAILING),
        (1, 1, HealthState.FAILING),
    ],
)
def test_health_follows_the_recent_calls(
    cast: Cast, calls: int, failures: int, state: HealthState
):
    worker = make_worker(cast.team)
    health = worker_health(worker, calls=calls, failures=failures, latency_ms=20)
    assert (health.state, health.last_test) == (state, None)


def test_health_without_calls_follows_the_last_test(cast: Cast, simulator_url: str):
    worker = make_worker(cast.team, base_url=simulator_url, model="sim-delta")
    states = []
    for model in ("sim-delta", "fault-500"):
        worker = worker_update(worker=worker, values={"model": model}, actor=ACTOR)
        tried(worker)
        states.append(worker_health(access_worker(cast.team.id, worker.id)).state)
    assert states == [HealthState.HEALTHY, HealthState.FAILING]


def test_disabled_worker_is_disabled_whatever_it_did(cast: Cast):
    worker = make_worker(cast.team, is_enabled=False)
    assert worker_health(worker, calls=9).state == HealthState.DISABLED
