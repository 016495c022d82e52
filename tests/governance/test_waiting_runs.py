"""What clients see of a run that waits for people, over REST and over `/v1`."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import openai

from apps.accounts.models import Role
from apps.runs.models import Run
from tests.conftest import Site
from tests.governance.approval_runs import (
    HOLD,
    approve,
    colleague,
    ended,
    pending,
    start,
    waiting,
)
from tests.governance.test_policies import PROMPT, in_force
from tests.patience import eventually
from tests.rest.conftest import Caller, member


def shown(who: Caller, run_id: uuid.UUID) -> list[tuple[str, str | None]]:
    """Return state and `waits_for` of a run, in the list and by itself."""
    listed = who.get("runs/").json()["data"]
    (row,) = [run for run in listed if run["id"] == str(run_id)]
    alone = who.get(f"runs/{run_id}/").json()
    return [(run["state"], run["waits_for"]) for run in (row, alone)]


def approve_it(who: Caller, run_id: uuid.UUID) -> None:
    digest = pending(who, run_id)["plan_digest"]
    assert approve(who, run_id, digest).status_code == 200


def test_over_rest_a_run_says_that_it_waits_and_then_that_it_is_done(
    site: Site,
) -> None:
    in_force(site, HOLD)
    bob, alice = member(site.cast.bob), member(site.cast.alice)
    run_id = start(bob)
    assert shown(bob, run_id) == [("running", "approval")] * 2
    approve_it(alice, run_id)
    ended(run_id)
    assert shown(bob, run_id) == [("completed", None)] * 2


def test_a_run_that_has_just_begun_waits_for_nobody(site: Site) -> None:
    sent = {"model": "conductor-ultra", "prompt": PROMPT}
    assert member(site.cast.bob).post("runs/", sent).json()["waits_for"] is None


def test_a_background_response_says_that_it_waits_and_then_has_its_answer(
    site: Site,
) -> None:
    in_force(site, HOLD)
    ada = member(colleague(site, "ada", Role.ADMIN))
    client = openai.OpenAI(base_url=site.api_url, api_key=site.key)
    asked: dict[str, Any] = {"model": "conductor-ultra", "input": PROMPT}
    begun = client.responses.create(**asked, background=True)
    run_id = Run.objects.for_team(site.cast.team.id).get().id
    assert eventually(lambda: waiting(run_id))
    found = client.responses.retrieve(begun.id)
    assert (found.status, conductor(found)["waits_for"]) == ("in_progress", "approval")
    approve_it(ada, run_id)
    assert ended(run_id).state == "completed"
    done = client.responses.retrieve(begun.id)
    assert (done.status, bool(done.output_text)) == ("completed", True)
    assert "waits_for" not in conductor(done)


def test_the_same_request_again_says_that_its_run_waits(site: Site) -> None:
    in_force(site, HOLD)
    headers = {"Authorization": f"Bearer {site.key}", "Idempotency-Key": "once"}
    body = {"model": "conductor-ultra", "input": PROMPT, "background": True}
    url = f"{site.api_url}/responses"
    first = httpx.post(url, json=body, headers=headers, timeout=30).json()
    run_id = Run.objects.for_team(site.cast.team.id).get().id
    assert eventually(lambda: waiting(run_id))
    again = httpx.post(url, json=body, headers=headers, timeout=30).json()
    assert again["id"] == first["id"]
    assert again["conductor"]["waits_for"] == "approval"


def conductor(response: Any) -> dict[str, Any]:
    """Return what Conductor adds to a response."""
    found: dict[str, Any] = response.conductor
    return found
