"""Background responses whose runs another process executes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator

import pytest

from apps.core.ids import new_id
from apps.engine.events import RunCancelled
from apps.gateway import run_handles
from tests.gateway.fakes import RUN_ID, TEAM_ID, USAGE, completed, holder
from tests.gateway.responses.conftest import ID, Api, body, events_of, record

LEFT = RunCancelled("client_closed", USAGE, 0, False, 1, 1)
KEYED = {"idempotency-key": "once"}
HEAD = f"/v1/responses\n{holder().key_id}\n".encode()
"""What a claim holds of a request beside its body: see `apps.gateway.run_starter`."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(run_handles, "POLL_S", 0.001)
    yield


async def test_answers_at_once(api: Api) -> None:
    api.client.backend.aside = record()
    answer = await api.ask(background=True)
    assert (answer.status, answer.json["status"]) == (200, "in_progress")


async def test_same_key_is_the_same_response(api: Api) -> None:
    api.client.backend.aside = record()
    first, second = [
        await api.client.ask(
            "POST", "/v1/responses", body(background=True), headers=KEYED
        )
        for _ in range(2)
    ]
    assert first.json["id"] == second.json["id"]
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert len(api.client.backend.orders) == 1


async def test_nobody_looks_at_a_run_that_nobody_waits_for(api: Api) -> None:
    api.client.backend.aside = record()
    for _ in range(2):
        await api.client.ask(
            "POST", "/v1/responses", body(background=True), headers=KEYED
        )
    for _ in range(5):  # what has been cancelled ends
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("end", [completed("42"), LEFT])
async def test_stream_tells_the_end_once_it_is_on_record(
    api: Api, end: RunCancelled
) -> None:
    api.keep(record())
    answer = api.client.open("GET", f"/v1/responses/{ID}?stream=true")
    await answer.until(lambda: len(answer.pieces) > 0)
    assert api.client.backend.find_run(TEAM_ID, RUN_ID) is None
    api.keep(record(end))
    await api.client.done()
    last = events_of(answer)[-1]
    if isinstance(end, RunCancelled):
        assert (last["type"], last["code"]) == ("error", "client_closed")
    else:
        assert last["type"] == "response.completed"
        assert last["response"]["output"][-1]["content"][0]["text"] == "42"


@pytest.mark.parametrize("stream", [False, True])
async def test_g1_nothing_is_promised_of_a_run_that_may_never_begin(
    api: Api, stream: bool
) -> None:
    asked = body(background=True, stream=stream)
    digest = hashlib.sha256(HEAD + asked).digest()
    claimed_by_the_dead = (digest, new_id())
    api.client.backend.claims[TEAM_ID, KEYED["idempotency-key"]] = claimed_by_the_dead
    answer = await api.client.ask("POST", "/v1/responses", asked, headers=KEYED)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert "about to begin its run" in answer.error["message"]
