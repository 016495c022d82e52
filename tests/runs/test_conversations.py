"""Conversations with tools and images: through a run, onto record, and on again."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import orjson
import pytest

from apps.accounts.principal import member_principal
from apps.core.errors import Conflict, InvalidInput, NotFound
from apps.core.ids import new_id
from apps.engine import events as ev
from apps.engine.ports import CallParams, Message
from apps.pools.models import Worker
from apps.runs.models import Run, RunState
from apps.runs.selectors import (
    access_run,
    asking_worker,
    order_of,
    run_events,
    run_record,
)
from apps.runs.services import run_find, run_rerun, run_start_detached
from apps.runs.types import RunError
from tests.conftest import Site
from tests.factories import ACTOR
from tests.runs.asking import Stage, planned
from tests.runs.starting import on_loop, order, run

LOOK = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {"type": "object", "properties": {"term": {"type": "string"}}},
    },
}
PARAMS = CallParams(tools=(LOOK,), tool_choice="auto", parallel_tool_calls=True)
ASKED: tuple[Message, ...] = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": 'Please look. [[call look_up {"term": "MVCC"}]]'},
)
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg"
    "YGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
PICTURED: tuple[Message, ...] = (
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "How many images are there?"},
            {"type": "image_url", "image_url": {"url": PNG}},
        ],
    },
)


def created_of(run_: Run) -> ev.RunCreated:
    event = run_events(run_)[0].event
    assert isinstance(event, ev.RunCreated)
    return event


def teach_images(site: Site, name: str) -> None:
    Worker.objects.for_team(site.cast.team.id).filter(name=name).update(
        accepts_images=True
    )


def access(site: Site, run_id: uuid.UUID) -> Run:
    return access_run(team_id=site.cast.team.id, run_id=run_id)


def called(site: Site, **fields: Any) -> Any:
    wanted = order(site.cast, ASKED, model="worker/sim-delta", params=PARAMS)
    return run(replace(wanted, **fields)).summary


def test_call_of_a_tool_ends_the_run_and_is_on_record(site: Site):
    summary = called(site)
    end = summary.end
    assert isinstance(end, ev.RunCompleted)
    (call,) = orjson.loads(end.tool_calls)
    assert call["function"] == {"name": "look_up", "arguments": '{"term": "MVCC"}'}
    record = run_record(site.cast.team.id, summary.run_id)
    assert record.summary == summary
    assert (record.messages, record.error) == (ASKED, None)
    assert record.params["tools"] == [LOOK]
    assert summary.worker == "sim-delta"
    assert not summary.has_estimated_usage


def test_worker_that_called_the_tools_is_known_to_its_team_alone(site: Site):
    run_id = called(site).run_id
    assert asking_worker(site.cast.team.id, run_id) == "sim-delta"
    assert asking_worker(site.cast.other_team.id, run_id) == ""
    plain = run(order(site.cast, "What is 2 + 2?", model="worker/sim-delta")).summary
    assert asking_worker(site.cast.team.id, plain.run_id) == ""
    assert asking_worker(site.cast.team.id, new_id()) == ""


def test_results_of_tools_go_straight_to_who_asked(site: Site):
    (call,) = orjson.loads(called(site).end.tool_calls)
    going_on: tuple[Message, ...] = (
        *ASKED,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "Versions.", "tool_call_id": call["id"]},
    )
    wanted = order(site.cast, going_on, params=PARAMS, continues="sim-birch")
    heard = run(wanted)
    steps = [s for s in heard.signals if isinstance(s, ev.StepStarted)]
    assert [step.worker for step in steps] == ["sim-birch"]
    assert orjson.loads(steps[0].messages) == list(going_on)
    assert heard.summary.planner == "tool_continuation"
    assert "Versions." in heard.summary.answer
    run_ = access(site, heard.summary.run_id)
    assert order_of(run_, created_of(run_)).continues == "sim-birch"


def test_worker_that_has_gone_is_no_reason_to_fail(site: Site):
    wanted = order(site.cast, ASKED, continues="gone", is_streamed=True)
    assert run(wanted).summary.planner == "language_model"


def test_order_comes_back_from_the_record_as_it_was(site: Site):
    teach_images(site, "sim-delta")
    wanted = order(
        site.cast,
        PICTURED,
        model="worker/sim-delta",
        params=replace(PARAMS, stop=("END",), temperature=0.5),
        delivery="verified",
        echo={"metadata": {"a": "b"}},
    )
    run_ = access(site, run(wanted).summary.run_id)
    assert order_of(run_, created_of(run_)) == replace(wanted, explores=False)


def test_rerun_asks_the_whole_conversation_again(site: Site):
    teach_images(site, "sim-delta")
    wanted = order(site.cast, PICTURED, model="worker/sim-delta")
    first = access(site, run(wanted).summary.run_id)
    cast = site.cast
    alice = member_principal(cast.alice, cast.team, "owner", {})
    again = access(site, run_rerun(first, alice))
    on_loop_end(site, again.id)
    assert created_of(again).params == created_of(first).params
    assert PNG in created_of(again).params


def test_page_asks_the_whole_conversation_again(stage: Stage):
    site = stage.site
    wanted = order(site.cast, ASKED, model="worker/sim-delta", params=PARAMS)
    first = access(site, run(wanted).summary.run_id)
    answer = stage.browser.post(f"/runs/{first.id}/rerun/")
    assert answer.status_code == 302
    again = Run.objects.for_team(site.cast.team.id).exclude(id=first.id).get()
    on_loop_end(site, again.id)
    assert answer["Location"] == f"/runs/{again.id}/"
    assert created_of(again).params == created_of(first).params
    assert again.user_id == site.cast.bob.id


def on_loop_end(site: Site, run_id: uuid.UUID) -> None:
    async def end() -> None:
        if live := run_find(run_id, site.cast.team.id):
            await live.finished()

    on_loop(end())


def test_images_are_kept_once_and_named_by_digest_elsewhere(site: Site):
    teach_images(site, "sim-delta")
    heard = run(order(site.cast, PICTURED, model="worker/sim-delta"))
    run_ = access(site, heard.summary.run_id)
    started = next(s for s in heard.signals if isinstance(s, ev.StepStarted))
    assert "sha256:" in started.messages and PNG not in started.messages
    assert PNG in created_of(run_).params
    assert run_.title == "How many images are there? [image 1]"


def test_images_for_nobody_are_refused_before_anything_is_recorded(site: Site):
    for model in ("conductor-ultra", "conductor-mini", "worker/sim-delta"):
        with pytest.raises(InvalidInput) as refused:
            run(order(site.cast, PICTURED, model=model))
        assert refused.value.param == "prompt"
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_record_of_a_run_is_its_teams(site: Site):
    run_id = called(site).run_id
    with pytest.raises(NotFound):
        run_record(site.cast.other_team.id, run_id)
    with pytest.raises(NotFound):
        run_record(site.cast.team.id, new_id())


def test_record_of_a_run_under_way_and_of_a_stopped_one(stage, recruit):
    (slow,) = recruit("delay-3600000")
    cast, run_id = stage.site.cast, new_id()
    wanted = order(
        cast, planned([slow]), actor=replace(ACTOR, context={"request_id": "r-1"})
    )

    async def begin() -> None:
        await run_start_detached(wanted, run_id)

    async def stop() -> None:
        live = run_find(run_id, cast.team.id)
        assert live is not None
        live.cancel("enough")
        await live.finished()

    on_loop(begin())
    with pytest.raises(Conflict):
        on_loop(begin())
    record = run_record(cast.team.id, run_id)
    assert (record.state, record.summary, record.error) == ("running", None, None)
    assert record.context == {"request_id": "r-1"}
    assert run_find(run_id, cast.other_team.id) is None
    on_loop(stop())
    record = run_record(cast.team.id, run_id)
    assert (record.state, record.error) == (
        RunState.CANCELLED,
        RunError("cancelled", "enough"),
    )
    assert run_find(run_id, cast.team.id) is None


def test_record_of_a_failed_run_says_why(stage, recruit):
    recruit("fault-401")
    cast = stage.site.cast
    summary = run(order(cast, "Try.", model="worker/fault-401")).summary
    record = run_record(cast.team.id, summary.run_id)
    assert isinstance(summary.end, ev.RunFailed)
    assert record.error == RunError(summary.end.code, summary.end.message)
    assert record.summary is not None and record.summary.worker == ""
