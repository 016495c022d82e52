"""A plan that leaves the rest to a worker, through the product."""

from __future__ import annotations

import io
import json
import uuid
from typing import Any

import httpx
import pytest

from apps.audit.bundles.verifier import verify_bundle
from apps.audit.rows import verify_rows
from apps.audit.verify import verify_team
from apps.pools.models import Tier
from apps.pools.selectors import snapshots_forget
from apps.runs.models import Run
from apps.runs.selectors import run_view
from tests.conftest import Site
from tests.console.test_evaluations import signed_in
from tests.governance.approval_runs import HOLD, approve, ended, pending, start, waiting
from tests.governance.test_policies import in_force, only, tag
from tests.patience import eventually
from tests.rest.conftest import member
from tests.runs.test_forks import post

PLAN = (
    '<<plan\nmodel_id = [0, "planner 1"]\nsubtasks = ["Try it", "Plan what is left"]\n'
    "access_list = [[], [0]]>>"
)
PROMPT = f"Project Falcon: what is 2 + 2? {PLAN}"


@pytest.fixture
def house(site: Site) -> Site:
    """A site whose conductor leaves the rest to sim-birch, where it may."""
    site.set_conductor("scripted-conductor")
    allow(site)
    return site


def allow(site: Site, **limits: Any) -> None:
    tiers = Tier.objects.for_team(site.cast.team.id).filter(name="ultra")
    tiers.update(**{"allows_delegation": True, "max_rounds": 2, **limits})
    snapshots_forget(site.cast.team.id)


def run_of(site: Site, prompt: str = PROMPT) -> Run:
    answer = post(site, "runs/", {"model": "conductor-ultra", "prompt": prompt})
    return ended(uuid.UUID(answer.json()["id"]))


def rounds(run: Run) -> list[tuple[str, str, bool]]:
    planned = [each for each in run_view(run).rounds if each.steps]
    return [(each.planner, each.planned_by, each.plans_rest) for each in planned]


def test_the_plan_of_the_worker_answers_and_the_record_says_who_made_it(house):
    run = run_of(house)
    assert run.state == "completed"
    assert rounds(run) == [
        ("language_model", "", True),
        ("delegated", "sim-birch", False),
    ]
    view = run_view(run)
    assert view.answer == view.rounds[1].steps[-1].text
    told = member(house.cast.vera).get(f"runs/{run.id}/").json()["steps"]
    assert [step["plans_rest"] for step in told if step["round"] == 0] == [False, True]
    assert verify_team(house.cast.team.id).faults == ()
    assert not verify_rows(house.cast.team.id).faults


def test_its_page_and_its_export_have_both_plans(house):
    run = run_of(house)
    page = signed_in(house.cast.vera).get(f"/runs/{run.id}/").content.decode()
    assert "plans the rest" in page
    assert "by the worker sim-birch" in page
    found = signed_in(house.cast.alice).post(f"/runs/{run.id}/bundle/")
    assert verify_bundle(io.BytesIO(found.content), run=run.id).entries


@pytest.mark.parametrize("limits", [{"allows_delegation": False}, {"max_rounds": 1}])
def test_where_it_is_not_allowed_it_is_no_plan(house, limits):
    allow(house, **limits)
    run = run_of(house)
    assert rounds(run) == [("fallback", "", False)]
    rejected = run_view(run).rounds[0].rejected
    assert {call.fault for call in rejected} == {"unknown_worker"}


def test_a_stream_has_the_answer_and_nothing_of_the_plan(house):
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": True,
    }
    headers = {"Authorization": f"Bearer {house.key}"}
    address = f"{house.api_url}/chat/completions"
    said = ""
    with httpx.stream("POST", address, json=body, headers=headers) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:]).get("choices", ()):
                    said += choice["delta"].get("content") or ""
    run = Run.objects.for_team(house.cast.team.id).latest("id")
    assert said == run_view(run).answer
    assert "model_id" not in said
    assert len(rounds(run)) == 2


def test_only_the_plan_of_the_worker_can_be_repeated(house):
    run = run_of(house)
    refused = post(house, f"runs/{run.id}/fork/", {"step": 0, "round": 0})
    assert refused.status_code == 400
    assert "planned the rest" in refused.json()["error"]["message"]
    again = post(house, f"runs/{run.id}/fork/")
    assert rounds(ended(uuid.UUID(again.json()["id"]))) == [("given_plan", "", False)]


def test_people_approve_both_plans_and_an_edit_keeps_what_the_last_step_does(house):
    in_force(house, HOLD)
    alice = member(house.cast.alice)
    run_id = start(member(house.cast.bob), PROMPT)
    first = pending(alice, run_id)
    assert first["plans_rest"] is True
    steps = [{**step, "subtask": step["subtask"] + "!"} for step in first["steps"]]
    answer = approve(alice, run_id, first["plan_digest"], steps=steps)
    assert answer.status_code == 200, answer.content
    assert eventually(lambda: waited_for(alice, run_id)["round"] != 0)
    second = waited_for(alice, run_id)
    assert second["plans_rest"] is False
    assert approve(alice, run_id, second["plan_digest"]).status_code == 200
    run = ended(run_id)
    assert (run.state, rounds(run)) == (
        "completed",
        [("approver", "", True), ("delegated", "sim-birch", False)],
    )


def waited_for(who: Any, run_id: uuid.UUID) -> dict[str, Any]:
    assert eventually(lambda: waiting(run_id))
    answer = who.get(f"runs/{run_id}/approval/")
    return dict(answer.json()) if answer.status_code == 200 else {"round": 0}


def test_no_plan_of_a_worker_uses_what_the_policy_refuses(house):
    tag(house, "sim-birch", "eu")
    in_force(house, only("eu"))
    run = run_of(house, PROMPT.replace('[0, "planner 1"]', '[0, "planner 0"]'))
    assert run.state == "completed"
    assert {step.worker for step in run_view(run).steps} == {"sim-birch"}
