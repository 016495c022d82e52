"""One `Idempotency-Key`, one run: while it executes, afterwards, when nobody waits."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from django.db import OperationalError

from apps.core.errors import NotFound, Overloaded
from apps.engine.events import RunCancelled, RunCompleted, RunFailed
from apps.gateway import idempotency, run_handles
from apps.runs.types import RunRecord
from tests.gateway.conftest import CHAT, Client, chat_body
from tests.gateway.fakes import (
    RUN_ID,
    TEAM_ID,
    USAGE,
    Exchanged,
    FakeBackend,
    FakeRun,
    answer_piece,
    completed,
    failed,
    holder,
    plan,
    summary,
)

KEY = "order-66"
PLACE = (TEAM_ID, KEY)
LEFT = RunCancelled("client_closed", USAGE, 0, False, 1, 1)
STREAMED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


def open_keyed(client: Client, *, key: str = KEY, **fields: Any) -> Exchanged:
    """Begin a completion with an idempotency key."""
    body = orjson.dumps(chat_body(**fields))
    return client.open("POST", CHAT, body, headers={"idempotency-key": key})


async def ask_keyed(client: Client, **fields: Any) -> Exchanged:
    """Ask for a completion with an idempotency key and wait for it."""
    exchanged = open_keyed(client, **fields)
    await client.done()
    return exchanged


def digest_of(**fields: Any) -> bytes:
    """Return what a claim says of a body."""
    body = orjson.dumps(chat_body(**fields))
    return hashlib.sha256(f"{CHAT}\n{holder().key_id}\n".encode() + body).digest()


def record(
    end: RunCompleted | RunFailed | RunCancelled | None, run_id: uuid.UUID = RUN_ID
) -> RunRecord:
    """Return a run on record that ended so, or runs."""
    return RunRecord(
        run_id=run_id,
        created_at=datetime(2030, 1, 1, tzinfo=UTC),
        model="conductor-mini",
        state="running" if end is None else "completed",
        source="api",
        prompt="What is 6 times 7?",
        messages=(),
        params={},
        context={},
        api_key_id=None,
        user_id=None,
        summary=None if end is None else summary(end, run_id),
        error=None,
    )


def claimed(client: Client, **fields: Any) -> None:
    """Let another process hold the key."""
    client.backend.claims[PLACE] = (digest_of(**fields), RUN_ID)


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(run_handles, "POLL_S", 0.001)
    monkeypatch.setattr(run_handles, "UNSEEN_S", 0.005)
    yield


# --- while it executes ---------------------------------------------------------------


async def test_many_at_once_get_one_run(client: Client) -> None:
    asked = [open_keyed(client) for _ in range(50)]
    client.run.plays(completed("It is 42."))
    await client.done()
    assert len(client.backend.orders) == 1
    assert {answer.status for answer in asked} == {200}
    assert len({answer.body for answer in asked}) == 1
    replayed = ["idempotent-replayed" in answer.headers for answer in asked]
    assert sorted(replayed) == [False] + [True] * 49


async def test_the_run_has_the_claimed_id(client: Client) -> None:
    client.run.plays(completed())
    answer = await ask_keyed(client)
    run_id = client.backend.claims[PLACE][1]
    assert answer.headers["x-conductor-run-id"] == str(run_id)


async def test_another_body_is_refused_while_it_executes(client: Client) -> None:
    first = open_keyed(client)
    await begun(client)
    second = await _refused(client, temperature=1)
    assert (second.status, second.error["code"]) == (422, "idempotency_conflict")
    client.run.say(completed())
    await client.done()
    assert first.status == 200


async def test_another_data_class_is_refused_like_another_body(client: Client) -> None:
    client.run.plays(completed())
    await ask_keyed(client)
    body = orjson.dumps(chat_body())
    headers = {"idempotency-key": KEY, "x-conductor-data-class": "restricted"}
    answer = client.open("POST", CHAT, body, headers=headers)
    await client.done()
    assert (answer.status, answer.error["code"]) == (422, "idempotency_conflict")


async def test_another_body_is_refused_afterwards(client: Client) -> None:
    client.run.plays(completed())
    await ask_keyed(client)
    answer = await ask_keyed(client, temperature=1)
    assert (answer.status, len(client.backend.orders)) == (422, 1)


async def test_who_joins_late_hears_all_of_it(client: Client) -> None:
    first = open_keyed(client, **STREAMED)
    await first.until(lambda: len(first.chunks) == 1)
    client.run.say(plan(), answer_piece("It "), answer_piece("is "))
    second = open_keyed(client, **STREAMED)
    await second.until(lambda: "is " in "".join(second.deltas("content")))
    client.run.say(answer_piece("42."), completed("It is 42."))
    await client.done()
    for answer in (first, second):
        assert "".join(answer.deltas("content")) == "It is 42."
        assert answer.lines[-1] == b"[DONE]"
    assert first.deltas("reasoning") == second.deltas("reasoning")
    assert first.chunks[-1] == second.chunks[-1]


async def test_keys_of_other_teams_are_other_keys(client: Client) -> None:
    first = open_keyed(client)
    await begun(client)
    client.backend.caller = replace(client.backend.caller, team_id=uuid.uuid4())
    client.backend.run = FakeRun().plays(completed())
    second = open_keyed(client)
    await client.tasks[-1]
    client.run.say(completed())
    await client.done()
    assert (first.status, second.status) == (200, 200)
    assert len(client.backend.orders) == 2


# --- when clients leave --------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
async def test_the_last_to_leave_cancels_the_run(client: Client, stream: bool) -> None:
    first, second = (open_keyed(client, stream=stream) for _ in range(2))
    await begun(client)
    first.leave()
    await left(first)
    assert client.run.cancelled_for == []
    second.leave()
    await client.done()
    assert client.run.cancelled_for == ["client_closed"]


async def test_who_stays_gets_the_answer(client: Client) -> None:
    first, second = open_keyed(client), open_keyed(client)
    await begun(client)
    first.leave()
    await left(first)
    client.run.say(completed("It is 42."))
    await client.done()
    assert second.json["choices"][0]["message"]["content"] == "It is 42."
    assert client.run.cancelled_for == []


async def test_a_run_given_up_frees_its_key(client: Client) -> None:
    first = open_keyed(client)
    await begun(client)
    first.leave()
    await client.done()
    client.backend.run = FakeRun().plays(completed("Again."))
    again = await ask_keyed(client)
    assert again.json["choices"][0]["message"]["content"] == "Again."
    assert "idempotent-replayed" not in again.headers
    assert len(client.backend.orders) == 2


async def test_who_comes_while_it_is_given_up_gets_a_new_run(client: Client) -> None:
    run = _SlowToStop()
    client.backend.run = run
    first = open_keyed(client)
    await begun(client)
    first.leave()
    async with asyncio.timeout(5):
        await run.cancelled.wait()
    client.backend.run = FakeRun().plays(completed("Again."))
    second = open_keyed(client)
    run.stop()
    await client.done()
    assert second.json["choices"][0]["message"]["content"] == "Again."


# --- when it never began, or failed --------------------------------------------------


async def test_a_refused_start_frees_the_key_for_all(client: Client) -> None:
    client.backend.refuses(Overloaded("too much"))
    asked = [open_keyed(client) for _ in range(3)]
    await client.done()
    assert {answer.status for answer in asked} == {503}
    assert client.backend.claims == {}


async def test_a_run_that_is_not_on_record_frees_the_key(client: Client) -> None:
    client.run.breaks(Overloaded("the ledger does not answer"))
    answer = await ask_keyed(client)
    assert (answer.status, client.backend.claims) == (503, {})


async def test_an_interrupted_run_keeps_its_key(client: Client) -> None:
    client.run.breaks(_Interrupted("it goes on elsewhere"))
    answer = await ask_keyed(client)
    assert (answer.status, list(client.backend.claims)) == (503, [PLACE])


async def test_a_failed_run_is_not_asked_again(client: Client) -> None:
    client.run.plays(failed("worker_failed"))
    assert (await ask_keyed(client)).status == 502
    run_id = client.backend.claims[PLACE][1]
    client.backend.records[TEAM_ID, run_id] = record(failed("worker_failed"), run_id)
    again = await ask_keyed(client)
    assert (again.status, len(client.backend.orders)) == (502, 1)


# --- afterwards, and in another process ----------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
async def test_a_finished_run_is_told_again(client: Client, stream: bool) -> None:
    claimed(client, stream=stream)
    client.backend.records[TEAM_ID, RUN_ID] = record(completed("It is 42."))
    answer = await ask_keyed(client, stream=stream)
    assert answer.headers["x-conductor-run-id"] == str(RUN_ID)
    assert answer.headers["idempotent-replayed"] == "true"
    assert b"It is 42." in answer.body
    assert client.backend.orders == []


async def test_a_finished_run_is_told_in_the_same_words(client: Client) -> None:
    client.run.plays(completed())
    first = await ask_keyed(client)
    run_id = client.backend.claims[PLACE][1]
    client.backend.records[TEAM_ID, run_id] = record(completed(), run_id)
    second = await ask_keyed(client)
    assert second.json["id"] == first.json["id"]
    assert second.json["created"] == first.json["created"]
    assert second.json["usage"] == first.json["usage"]


async def test_a_run_taken_up_here_is_joined(client: Client) -> None:
    claimed(client)
    client.run.plays(completed("It is 42."))
    client.backend.live[TEAM_ID, RUN_ID] = client.run
    answer = await ask_keyed(client)
    assert answer.json["choices"][0]["message"]["content"] == "It is 42."
    assert (client.backend.orders, list(client.backend.claims)) == ([], [PLACE])


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_of_another_process_is_waited_for(
    client: Client, stream: bool
) -> None:
    claimed(client, stream=stream)
    _records_in_turn(client, None, record(None), record(completed("It is 42.")))
    answer = await ask_keyed(client, stream=stream)
    assert b"It is 42." in answer.body
    assert (client.backend.orders, list(client.backend.claims)) == ([], [PLACE])


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_of_another_process_is_not_waited_for_in_vain(
    client: Client, stream: bool
) -> None:
    claimed(client, stream=stream)
    client.backend.records[TEAM_ID, RUN_ID] = record(None)
    first, second = (open_keyed(client, stream=stream) for _ in range(2))
    first.leave()
    second.leave()
    await client.done()
    assert list(client.backend.claims) == [PLACE]
    client.backend.records[TEAM_ID, RUN_ID] = record(completed("It is 42."))
    again = await ask_keyed(client, stream=stream)
    assert b"It is 42." in again.body


@pytest.mark.usefixtures("_quick")
async def test_a_run_that_another_process_gives_up_may_be_asked_again(
    client: Client,
) -> None:
    claimed(client)
    _records_in_turn(client, record(None), record(LEFT))
    answer = await ask_keyed(client)
    assert (answer.status, answer.error["code"]) == (503, "overloaded")
    assert "retry-after" in answer.headers


async def test_a_run_that_was_given_up_elsewhere_frees_the_key(client: Client) -> None:
    claimed(client)
    client.backend.records[TEAM_ID, RUN_ID] = record(LEFT)
    client.run.plays(completed())
    assert (await ask_keyed(client)).status == 200
    assert len(client.backend.orders) == 1


@pytest.mark.usefixtures("_quick")
async def test_a_claim_without_a_run_ends_the_waiting(client: Client) -> None:
    claimed(client)
    answer = await ask_keyed(client)
    assert (answer.status, answer.error["code"]) == (503, "overloaded")


# --- when the database breaks off ----------------------------------------------------


@pytest.fixture
def outage(client: Client, monkeypatch: pytest.MonkeyPatch) -> _Outage:
    monkeypatch.setattr(idempotency, "FREE_EVERY_S", 0.001)
    return _Outage(client.backend)


async def test_a_claim_whose_answer_was_lost_is_given_back(
    client: Client, outage: _Outage
) -> None:
    outage.claims, outage.releases = 1, 2
    assert (await ask_keyed(client)).status == 503
    await outage.over()
    client.run.plays(completed("It is 42."))
    again = await ask_keyed(client)
    assert again.json["choices"][0]["message"]["content"] == "It is 42."
    assert "idempotent-replayed" not in again.headers


async def test_a_key_that_cannot_be_freed_now_is_freed_later(
    client: Client, outage: _Outage
) -> None:
    outage.releases = 2
    client.backend.refuses(Overloaded("too much"))
    answer = await ask_keyed(client)
    assert answer.error["message"] == "too much"
    await outage.over()
    assert client.backend.claims == {}


# --- the key itself ------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", " ", "a b", "k" * 256, "\x7f"])
async def test_a_bad_key_is_named(client: Client, key: str) -> None:
    answer = await ask_keyed(client, key=key)
    assert (answer.status, answer.error["param"]) == (400, "Idempotency-Key")
    assert client.backend.orders == []


async def test_without_a_key_every_request_is_a_run(client: Client) -> None:
    client.run.plays(completed())
    await client.chat()
    await client.chat()
    assert (len(client.backend.orders), client.backend.claims) == (2, {})


class _Interrupted(Overloaded):
    code = "interrupted"


class _SlowToStop(FakeRun):
    def cancel(self, reason: str) -> None:
        self.cancelled_for.append(reason)
        self.cancelled.set()

    def stop(self) -> None:
        self.say(LEFT)


class _Outage:
    """A database that is away for so many claims and releases.

    A claim is made all the same, and its answer lost.
    """

    def __init__(self, backend: FakeBackend) -> None:
        self.claims = self.releases = 0
        self._claim, self._release = backend.claim, backend.release
        self._freed = asyncio.Event()
        backend.claim = self._lose_claim  # type: ignore[method-assign]
        backend.release = self._lose_release  # type: ignore[method-assign]

    async def over(self) -> None:
        """Wait for the first key that is freed."""
        async with asyncio.timeout(5):
            await self._freed.wait()

    async def _lose_claim(
        self, team_id: uuid.UUID, key: str, digest: bytes, run_id: uuid.UUID
    ) -> uuid.UUID:
        held = await self._claim(team_id, key, digest, run_id)
        if self.claims:
            self.claims -= 1
            raise OperationalError("terminating connection")
        return held

    async def _lose_release(
        self, team_id: uuid.UUID, key: str, run_id: uuid.UUID
    ) -> None:
        if self.releases:
            self.releases -= 1
            raise OperationalError("the connection is closed")
        await self._release(team_id, key, run_id)
        self._freed.set()


def _records_in_turn(client: Client, *records: RunRecord | None) -> None:
    """Let each look at the record find the next of `records`; None: nothing yet."""
    turns = list(records)

    async def look(team_id: uuid.UUID, run_id: uuid.UUID) -> RunRecord:
        found = turns.pop(0) if len(turns) > 1 else turns[0]
        if found is None:
            raise NotFound("not yet")
        return found

    client.backend.run_record = look  # type: ignore[method-assign]


async def begun(client: Client) -> None:
    """Wait until the run has been ordered and is waited for."""
    async with asyncio.timeout(5):
        await client.backend.run.heard.wait()


async def left(exchanged: Exchanged) -> None:
    """Wait until the request knows that its client has left."""
    async with asyncio.timeout(5):
        await exchanged.noticed.wait()


async def _refused(client: Client, **fields: Any) -> Exchanged:
    exchanged = open_keyed(client, **fields)
    await client.tasks[-1]
    return exchanged


async def test_another_api_key_is_not_told_what_this_one_asked(client: Client) -> None:
    client.run.plays(completed("It is 42."))
    assert (await ask_keyed(client)).status == 200
    client.backend.caller = replace(holder(), key_id=uuid.UUID(int=8))
    assert (await ask_keyed(client)).status == 422
    assert len(client.backend.orders) == 1
