"""Replaying a recorded plan, and forking it at a step, through the product."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from django.test import Client

from apps.engine import events as ev
from apps.pools.models import Worker
from apps.pools.services import worker_update
from apps.runs.models import Run, RunState, Step
from apps.runs.records.run_view import RunView
from apps.runs.selectors import access_run, run_events, run_view
from tests.conftest import Site
from tests.console.test_evaluations import signed_in
from tests.factories import ACTOR
from tests.patience import eventually

PROMPT = "What is 17 * 23 + 4? Show the steps and check the result."


def post(site: Site, path: str, body: object = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.key}"}
    return httpx.post(f"{site.url}/api/v1/{path}", headers=headers, json=body or {})


def ended(site: Site, run_id: str) -> Run:
    def found() -> Run:
        return access_run(team_id=site.cast.team.id, run_id=run_id)  # type: ignore[arg-type]

    assert eventually(lambda: found().is_over)
    return found()


def planned(site: Site) -> Run:
    """Return a finished run with a plan of several steps."""
    answer = post(site, "runs/", {"model": "conductor-ultra", "prompt": PROMPT})
    run = ended(site, answer.json()["id"])
    assert len(view_of(run).rounds[-1].steps) > 1
    return run


def view_of(run: Run) -> RunView:
    return run_view(run)


def forked(site: Site, run: Run, **edit: Any) -> Run:
    answer = post(site, f"runs/{run.id}/fork/", edit)
    assert answer.status_code == 201, answer.text
    return ended(site, answer.json()["id"])


def called_steps(run: Run) -> list[int]:
    events = (entry.event for entry in run_events(run))
    return sorted({e.step for e in events if isinstance(e, ev.StepStarted)})


def test_a_replay_runs_the_same_plan_without_the_conductor(site: Site):
    run = planned(site)
    again = forked(site, run)
    first, second = view_of(run).rounds[-1], view_of(again).rounds[-1]
    assert again.state == RunState.COMPLETED
    assert second.planner == "given_plan"
    assert [(s.subtask, s.planned_worker, s.access) for s in second.steps] == [
        (s.subtask, s.planned_worker, s.access) for s in first.steps
    ]
    assert not second.calls
    assert called_steps(again) == [s.index for s in second.steps]
    created = run_events(again)[0].event
    assert isinstance(created, ev.RunCreated)
    assert json.loads(created.params)["derived_from"] == str(run.id)


def test_a_fork_pays_only_for_the_changed_step_and_what_depends_on_it(site: Site):
    run = planned(site)
    steps = view_of(run).rounds[-1].steps
    last = steps[-1].index
    again = forked(site, run, step=last, worker="sim-birch", subtask="Say it briefly.")
    view = view_of(again)
    assert called_steps(again) == [last]
    fresh = view.rounds[-1].steps
    assert (fresh[last].worker, fresh[last].subtask) == ("sim-birch", "Say it briefly.")
    for before, after in zip(steps[:-1], fresh[:-1], strict=True):
        if before.text and after.state == "completed":
            assert (after.text, after.reused_from) == (before.text, str(run.id))
            assert (after.attempts, after.cost.micros) == (0, 0)
    calls = [
        s.cost_micros for s in Step.objects.for_team(run.team_id).filter(run=again)
    ]
    assert again.cost_micros == sum(cost or 0 for cost in calls)
    assert 0 < again.cost_micros < run.cost_micros


def test_an_answer_of_a_person_takes_the_place_of_a_step(site: Site):
    run = planned(site)
    again = forked(site, run, step=0, answer="It is divisible by 2026.")
    first = view_of(again).rounds[-1].steps[0]
    assert (first.text, first.is_edited) == ("It is divisible by 2026.", True)
    assert 0 not in called_steps(again)
    events = [entry.event for entry in run_events(again)]
    reused = [event for event in events if isinstance(event, ev.StepReused)]
    assert [event.is_edited for event in reused if event.step == 0] == [True]
    started = next(e for e in events if isinstance(e, ev.StepStarted))
    assert "divisible by 2026" in started.messages


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"step": 99}, "no step 99"),
        ({"step": 0, "worker": "nobody"}, "not in the pool"),
        ({"step": 0, "subtask": " "}, "subtask"),
        ({"step": 0, "answer": "x", "worker": "sim-birch"}, "either an answer"),
        ({"worker": "sim-birch"}, "which step"),
        ({"step": 0, "round": 7}, "round 7 has no plan"),
    ],
)
def test_what_cannot_be_forked_is_refused(site: Site, edit, message):
    run = planned(site)
    answer = post(site, f"runs/{run.id}/fork/", edit)
    assert answer.status_code in (400, 422), answer.text
    assert message in answer.text
    assert Run.objects.for_team(run.team_id).count() == 1


def test_a_worker_that_left_the_pool_is_named(site: Site):
    run = planned(site)
    name = view_of(run).rounds[-1].steps[0].planned_worker
    worker = Worker.objects.for_team(run.team_id).get(name=name)
    worker_update(worker=worker, values={"is_enabled": False}, actor=ACTOR)
    answer = post(site, f"runs/{run.id}/fork/")
    assert answer.status_code == 400, answer.text
    assert name in answer.text


def test_the_pages_fork_replay_and_compare(site: Site):
    alice = signed_in(site.cast.alice)
    run = planned(site)
    page = alice.get(f"/runs/{run.id}/").content.decode()
    assert "Edit step and continue" in page
    assert "Run same plan" in page
    address = f"/runs/{run.id}/steps/0/0/fork/"
    form = alice.get(address).content.decode()
    assert "is run again" in form
    bad = alice.post(address, {"mode": "answer", "answer": " "})
    assert (bad.status_code, "Write the answer." in bad.content.decode()) == (400, True)
    wanted = {"mode": "answer", "answer": "It is prime.", "subtask": "", "worker": ""}
    answer = alice.post(address, wanted)
    assert answer.status_code == 302, answer.content.decode()
    place = answer.headers["location"]
    assert place.startswith("/comparisons/")
    newest = Run.objects.for_team(run.team_id).latest("id")
    ended(site, str(newest.id))
    compared = alice.get(place).content.decode()
    assert "written by a person" in compared
    assert "Differs in" in compared
    shown = alice.get(f"/runs/{newest.id}/").content.decode()
    assert "A person wrote this answer" in shown
    assert ">written by a person</p>" in shown  # in the drawing of the plan
    replayed = alice.post(f"/runs/{run.id}/replay/")
    assert replayed.headers["location"].startswith("/comparisons/")


def test_g6_another_team_forks_nothing(site: Site):
    run = planned(site)
    mallory = signed_in(site.cast.mallory)
    assert mallory.get(f"/runs/{run.id}/steps/0/0/fork/").status_code == 404
    assert mallory.post(f"/runs/{run.id}/replay/").status_code == 404
    vera: Client = signed_in(site.cast.vera)
    assert vera.post(f"/runs/{run.id}/replay/").status_code == 403
