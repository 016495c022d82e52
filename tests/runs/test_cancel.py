"""Stopping a run: from the page, or because the client went away."""

from __future__ import annotations

import io
import json
import uuid

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.engine import events as ev
from apps.runs.models import Run, RunState
from apps.runs.selectors import run_entries, run_events
from tests.patience import PATIENCE_S, eventually
from tests.runs.asking import frames, planned, until

FOREVER = "delay-3600000"


@pytest.fixture
def stuck(stage, recruit, watch, models):
    """A run whose second step is in flight, and a socket that has seen it start."""
    run = stage.start(planned([0, *recruit(FOREVER)]))
    socket = watch(run)
    until(socket, "step.completed")
    until(socket, "step.started")
    assert calls_in_flight(models, 1)  # it is sent after it is on record
    return run, socket


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(client, run, accept="application/json"):
    return client.post(f"/runs/{run.id}/cancel/", headers={"accept": accept})


def end_of(run):
    return run_events(run)[-1].event


def calls_in_flight(models, count):
    """Wait until the provider serves so many calls; return whether it ever did."""
    return eventually(lambda: models.stats()["in_flight"] == count)


def calls_are_closed(models):
    """Wait until the one call that was open is closed; return whether it ever was."""
    closed = {"in_flight": 0, "disconnected": 1}
    return eventually(lambda: closed.items() <= models.stats().items())


def test_member_stops_a_run_and_the_reason_is_on_record(stuck, cast, models):
    run, socket = stuck
    assert post(browser(cast.alice), run).json() == {"is_stopped": True}
    end = end_of(run)
    assert isinstance(end, ev.RunCancelled) and end.reason == "stopped by Alice"
    assert list(frames(socket))[-2]["action"] == "run.cancelled"
    assert calls_are_closed(models)


def test_what_was_used_until_then_is_settled_once(stuck, cast):
    run, _ = stuck
    post(browser(cast.alice), run)
    events = [recorded.event for recorded in run_events(run)]
    assert isinstance(events[-1], ev.RunCancelled)
    ended = [e for e in events if isinstance(e, ev.StepCompleted | ev.PlanReplied)]
    closed = [e for e in events if isinstance(e, ev.StepAttemptFailed)]
    assert [e.fault for e in closed] == ["cancelled"]
    run.refresh_from_db()
    spent = sum(e.cost_micros or 0 for e in (*ended, *closed))
    assert run.cost_micros == events[-1].cost_micros == spent
    assert run.state == RunState.CANCELLED


def test_the_ledger_names_who_stopped_it(stuck, cast):
    run, _ = stuck
    post(browser(cast.alice), run)
    (line,) = [
        json.loads(line)
        for line in browser(cast.alice)
        .get(f"/runs/{run.id}/export.jsonl")
        .content.splitlines()
        if b"run.cancelled" in line
    ]
    assert line["actor"]["display"] == "Alice"


def test_the_operator_cancels_a_run_by_command_and_is_on_record(stuck, models):
    run, _ = stuck
    out = io.StringIO()
    call_command("run_cancel", str(run.id), stdout=out)
    assert out.getvalue() == f"run {run.id} of team orchestra is cancelled\n"
    end = end_of(run)
    assert isinstance(end, ev.RunCancelled)
    assert end.reason == "cancelled by the operator"
    assert run_entries(run)[-1].actor.display == "the operator"
    assert calls_are_closed(models)


def test_the_command_says_that_a_run_was_over(stuck):
    run, _ = stuck
    call_command("run_cancel", str(run.id), "--reason", "A loop.", stdout=io.StringIO())
    end = end_of(run)
    assert isinstance(end, ev.RunCancelled) and end.reason == "A loop."
    with pytest.raises(CommandError, match="was over already: cancelled"):
        call_command("run_cancel", str(run.id))


def test_the_command_fails_if_there_is_no_such_run(cast):
    unknown = uuid.uuid4()
    with pytest.raises(CommandError, match=f"there is no run '{unknown}'") as found:
        call_command("run_cancel", str(unknown))
    assert found.value.returncode == 1


def test_second_stop_changes_nothing(stuck, cast):
    run, _ = stuck
    post(browser(cast.alice), run)
    assert post(browser(cast.bob), run).json() == {"is_stopped": False}
    events = [recorded.event for recorded in run_events(run)]
    reasons = [e.reason for e in events if isinstance(e, ev.RunCancelled)]
    assert reasons == ["stopped by Alice"]


def test_finished_run_can_not_be_stopped(stage, watch):
    run = stage.start(planned([0]))
    list(frames(watch(run)))
    assert post(stage.browser, run).json() == {"is_stopped": False}
    assert isinstance(end_of(run), ev.RunCompleted)


def test_viewer_may_not_stop_and_outsiders_see_nothing(stuck, cast):
    run, _ = stuck
    assert post(browser(cast.vera), run).status_code == 403
    assert post(browser(cast.mallory), run).status_code == 404
    assert post(Client(), run, "text/html").status_code == 302
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("is_direct", [True, False])
def test_client_that_leaves_ends_its_run(
    is_streamed, is_direct, stage, recruit, models, watch
):
    (number,) = recruit(FOREVER)
    body = {
        "model": f"worker/{FOREVER}" if is_direct else "conductor-ultra",
        "messages": [{"role": "user", "content": planned([0, number])}],
        "stream": is_streamed,
    }
    site = stage.site
    # The model stays silent, so the client's own patience is what ends this.
    with pytest.raises(httpx.TimeoutException):
        httpx.post(
            f"{site.api_url}/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {site.key}"},
            timeout=1,
        )
    run = Run.objects.for_team(site.cast.team.id).get()
    found = list(frames(watch(run)))
    assert found[-2]["data"]["reason"] == "client_closed"
    assert calls_are_closed(models)


def test_stop_in_the_middle_of_a_stream_reaches_its_client(stage, recruit, models):
    recruit(FOREVER)
    site = stage.site
    body = {
        "model": f"worker/{FOREVER}",
        "messages": [{"role": "user", "content": "Wait."}],
        "stream": True,
    }
    headers = {"Authorization": f"Bearer {site.key}"}
    with httpx.stream(
        "POST",
        f"{site.api_url}/chat/completions",
        json=body,
        headers=headers,
        timeout=PATIENCE_S,
    ) as answer:
        run_id = answer.headers["x-conductor-run-id"]
        assert calls_in_flight(models, 1)
        post(stage.browser, Run.objects.for_team(site.cast.team.id).get(id=run_id))
        said = answer.read().decode()
    assert "run_cancelled" in said and "stopped by Bob" in said
    assert "[DONE]" not in said
