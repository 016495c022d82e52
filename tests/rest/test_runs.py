"""Runs over REST, with the whole product running behind it."""

from __future__ import annotations

import asyncio
import io
import uuid
from itertools import pairwise
from typing import Any

import pytest

from apps.accounts.models import Scope
from apps.audit.bundles.verifier import verify_bundle
from apps.runs.execution.executor import get_executor
from apps.runs.models import Run
from tests.factories import issue_key
from tests.patience import PATIENCE_S, awaited
from tests.rest.conftest import Caller, actions, fault, keyed, member, program
from tests.rest.things import make_run

ASKED = {"model": "conductor-ultra", "prompt": "What is 17 * 23 + 4?"}


@pytest.fixture
def background_runs(settings):
    settings.BACKGROUND_RUNS = "workers"


@pytest.fixture
def site_with_workers(background_runs, site):
    """A site that leaves background runs to worker processes; none is there."""
    return site


def ended(caller: Caller, run_id: str) -> dict[str, Any]:
    """Read a run until it has ended: a program has nothing else to wait by."""

    def look() -> dict[str, Any] | None:
        told: dict[str, Any] = caller.get(f"runs/{run_id}/").json()
        return told if told["state"] != "running" else None

    return awaited(look)


def test_a_run_is_started_and_read_with_its_steps(site):
    caller = program(site.key)
    answer = caller.post("runs/", ASKED)
    assert answer.status_code == 201
    told = answer.json()
    assert answer["Location"].endswith(f"/api/v1/runs/{told['id']}/")
    assert told["actor"]["name"] == "Build server"
    run = ended(caller, told["id"])
    assert run["state"] == "completed" and "395" in run["answer"]
    assert run["prompt"] == ASKED["prompt"]
    assert [step["state"] for step in run["steps"]] == ["completed"] * 3
    assert float(run["cost_usd"]) > 0
    (row,) = Run.objects.for_team(site.cast.team.id)
    assert (row.api_key_id, row.user_id) == (site.cast.key.row.id, site.cast.alice.id)
    assert actions(site.cast.team)[1:3] == ["run.created", "plan.requested"]


def test_a_member_starts_a_run_with_their_session(site):
    bob = member(site.cast.bob)
    told = bob.post("runs/", {**ASKED, "model": "conductor-mini"}).json()
    assert told["actor"] == {
        "type": "user",
        "id": str(site.cast.bob.id),
        "name": "Bob",
    }
    assert ended(bob, told["id"])["state"] == "completed"


def test_a_background_run_is_left_to_the_workers(site_with_workers):
    caller = program(site_with_workers.key)
    told = caller.post("runs/", {**ASKED, "background": True}).json()
    run_id = uuid.UUID(told["id"])
    assert (told["state"], Run.objects.across_teams().get(id=run_id).owner_id) == (
        "running",
        None,
    )
    executor = get_executor()
    claim = asyncio.run_coroutine_threadsafe(executor.claim(run_id), executor.loop)
    assert claim.result(PATIENCE_S)
    assert ended(caller, told["id"])["state"] == "completed"


def test_a_run_that_is_waited_for_executes_here(site_with_workers):
    caller = program(site_with_workers.key)
    assert ended(caller, caller.post("runs/", ASKED).json()["id"])["steps"]


def test_a_run_may_use_less_than_the_pool_has(site):
    caller = program(site.key)
    narrow = {"workers": ["sim-birch"], "max_steps": 2, "max_cost_usd": "1.00"}
    told = caller.post("runs/", {**ASKED, "conductor": narrow}).json()
    run = ended(caller, told["id"])
    assert {step["worker"] for step in run["steps"]} <= {"sim-birch"}


@pytest.mark.parametrize(
    ("change", "status", "param"),
    [
        ({"model": "gpt-9"}, 404, "model"),
        ({"model": "worker/nobody"}, 404, "model"),
        ({"model": ""}, 400, "model"),
        ({"model": 5}, 400, "model"),
        ({"prompt": " "}, 400, "prompt"),
        ({"prompt": "a\x00b"}, 400, "prompt"),
        ({"prompt": "x" * 1_000_001}, 400, "prompt"),
        ({"prompt": ["x"]}, 400, "prompt"),
        ({"max_tokens": 0}, 400, "max_tokens"),
        ({"temperature": 3}, 400, "temperature"),
        ({"temperature": True}, 400, "temperature"),
        ({"stop": ["a"] * 5}, 400, "stop"),
        ({"stop": [""]}, 400, "stop[0]"),
        ({"seed": 2**40}, 400, "seed"),
        ({"conductor": {"workers": ["nobody"]}}, 400, "conductor.workers"),
        ({"conductor": {"max_steps": 0}}, 400, "conductor.max_steps"),
        ({"conductor": {"max_cost_usd": 1}}, 400, "conductor.max_cost_usd"),
        ({"conductor": {"pool": "other"}}, 400, "conductor.pool"),
        ({"team_id": "others"}, 400, "team_id"),
        ({"cost_usd": "0"}, 400, "cost_usd"),
    ],
)
def test_a_bad_run_is_refused_and_not_recorded(site, change, status, param):
    response = program(site.key).post("runs/", {**ASKED, **change})
    assert fault(response, status)["param"] == param
    assert not Run.objects.for_team(site.cast.team.id).exists()


@pytest.mark.parametrize("model", ["worker/sim-delta", "{pool}/worker/sim-delta"])
def test_a_single_worker_needs_a_scope_of_its_own(site, model):
    pool = site.cast.team.pools.get(is_default=True)
    body = {**ASKED, "model": model.format(pool=pool.name)}
    caller = keyed(site.cast.team, Scope.RUN, Scope.READ)
    assert "'workers:direct'" in fault(caller.post("runs/", body), 403)["message"]
    run_id = program(site.key).post("runs/", body).json()["id"]
    ended(caller, run_id)
    fault(caller.post(f"runs/{run_id}/rerun/"), 403)


def test_a_key_is_held_to_its_tiers_and_workers(site):
    caller = keyed(site.cast.team, Scope.RUN, Scope.READ, allowed_tiers=["mini"])
    fault(caller.post("runs/", ASKED), 403)
    run_id = program(site.key).post("runs/", ASKED).json()["id"]
    ended(caller, run_id)
    fault(caller.post(f"runs/{run_id}/rerun/"), 403)


def test_a_run_is_asked_again(site):
    caller = program(site.key)
    first = ended(caller, caller.post("runs/", ASKED).json()["id"])
    answer = caller.post(f"runs/{first['id']}/rerun/")
    assert answer.status_code == 201
    again = ended(caller, answer.json()["id"])
    assert again["id"] != first["id"]
    assert (again["prompt"], again["model"]) == (first["prompt"], first["model"])
    assert again["source"] == "rest"


def test_a_run_without_a_record_cannot_be_asked_again(site):
    run_id = make_run(site.cast)
    fault(program(site.key).post(f"runs/{run_id}/rerun/"), 404)


def test_what_a_run_may_cost_is_told_and_nothing_started(site):
    answer = program(site.key).post("runs/estimate/", ASKED)
    assert answer.status_code == 200
    told = answer.json()
    assert told["basis"] == "prices"
    assert 0 < float(told["low_usd"]) < float(told["high_usd"])
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_a_run_that_has_ended_is_not_cancelled(site):
    caller = program(site.key)
    run = ended(caller, caller.post("runs/", ASKED).json()["id"])
    assert caller.post(f"runs/{run['id']}/cancel/").json() == {"is_stopped": False}


def test_a_running_run_is_cancelled(site):
    site.add_worker("fault-stall")
    caller = program(site.key)
    told = caller.post("runs/", {**ASKED, "model": "worker/fault-stall"}).json()
    answer = caller.post(f"runs/{told['id']}/cancel/")
    assert answer.json() == {"is_stopped": True}
    run = ended(caller, told["id"])
    assert (run["state"], run["answer"]) == ("cancelled", None)
    assert actions(site.cast.team)[-1] == "run.cancelled"


def test_entries_come_in_the_order_of_the_chain_in_pages(site):
    caller = keyed(site.cast.team, Scope.AUDIT_READ)
    run_id = program(site.key).post("runs/", ASKED).json()["id"]
    ended(program(site.key), run_id)
    seen: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        query = f"limit=3&cursor={cursor}" if cursor else "limit=3"
        page = caller.get(f"runs/{run_id}/entries/?{query}").json()
        seen += page["data"]
        cursor = page["next_cursor"]
    assert [entry["seq"] for entry in seen] == sorted({e["seq"] for e in seen})
    assert (seen[0]["action"], seen[-1]["action"]) == ("run.created", "run.completed")
    assert seen[0]["bodies"]["prompt"] == ASKED["prompt"]
    assert seen[0]["context"]["address"]
    for before, after in pairwise(seen):
        if after["seq"] == before["seq"] + 1:
            assert after["previous_hash"] == before["hash"]


def test_a_budget_that_is_used_up_is_told_with_when_it_resets(site):
    member(site.cast.alice).post(
        "budgets/", {"kind": "team", "period": "month", "limit_usd": "0.000001"}
    )
    caller = program(site.key)
    response = caller.post("runs/", ASKED)
    assert fault(response, 429)["code"] == "insufficient_quota"
    assert int(response["Retry-After"]) > 0


def test_a_limit_for_each_run_is_told_without_a_time_to_come_back(site):
    member(site.cast.alice).post(
        "budgets/", {"kind": "team", "period": "run", "limit_usd": "0.000001"}
    )
    response = program(site.key).post("runs/", ASKED)
    assert fault(response, 429)["code"] == "insufficient_quota"
    assert "Retry-After" not in response


def test_a_key_asks_no_faster_than_it_may(cast):
    caller = keyed(cast.team, Scope.READ, requests_per_minute=2)
    first = caller.get("runs/")
    assert first["x-ratelimit-limit-requests"] == "2"
    assert first["x-ratelimit-remaining-requests"] == "1"
    assert caller.get("runs/").status_code == 200
    response = caller.get("runs/")
    assert fault(response, 429)["code"] == "rate_limit_exceeded"
    assert int(response["Retry-After"]) > 0
    assert response["x-ratelimit-remaining-requests"] == "0"


def test_runs_count_with_their_tokens_and_once(site):
    caller = keyed(
        site.cast.team,
        Scope.RUN,
        Scope.READ,
        requests_per_minute=9,
        tokens_per_minute=1000,
    )
    answer = caller.post("runs/", {**ASKED, "model": "conductor-mini"})
    assert answer["x-ratelimit-remaining-requests"] == "8"
    assert 0 < int(answer["x-ratelimit-remaining-tokens"]) < 1000
    ended(program(site.key), answer.json()["id"])
    error = fault(caller.post("runs/", {**ASKED, "prompt": "word " * 5000}), 429)
    assert error["code"] == "rate_limit_exceeded"


def test_a_team_s_rate_holds_its_members_runs_too(site):
    alice = member(site.cast.alice)
    alice.patch("team/", {"requests_per_minute": 1})
    told = alice.post("runs/", {**ASKED, "model": "conductor-mini"}).json()
    fault(alice.post("runs/", ASKED), 429)
    fault(alice.post(f"runs/{told['id']}/rerun/"), 429)
    assert ended(alice, told["id"])["state"] == "completed"


# --- lists ---------------------------------------------------------------------------


def test_runs_are_listed_newest_first_while_others_are_added(vera, cast):
    ids = [str(make_run(cast)) for _ in range(5)]
    first = vera.get("runs/?limit=2").json()
    make_run(cast)
    second = vera.get(f"runs/?limit=2&cursor={first['next_cursor']}").json()
    third = vera.get(f"runs/?limit=2&cursor={second['next_cursor']}").json()
    told = [run["id"] for page in (first, second, third) for run in page["data"]]
    assert told == ids[::-1]
    assert third["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("state=failed", 1),
        ("state=running", 0),
        ("model=conductor-mini", 2),
        ("model=worker/x", 0),
        ("actor=lic", 2),
        ("query=17", 0),  # they have no entries
        ("since=2020-01-01T00:00:00Z", 2),
        ("until=2020-01-01T00:00:00Z", 0),
    ],
)
def test_runs_are_filtered(vera, cast, query, count):
    make_run(cast)
    make_run(cast, state="failed", error_code="worker_failed", error_message="No.")
    assert len(vera.get(f"runs/?{query}").json()["data"]) == count


def test_a_failed_run_says_why(vera, cast):
    values = {"error_code": "worker_failed", "error_message": "No worker could."}
    run_id = make_run(cast, state="failed", **values)
    told = vera.get(f"runs/{run_id}/").json()
    assert told["error"] == {"code": "worker_failed", "message": "No worker could."}


@pytest.mark.parametrize(
    "query",
    [
        "state=lost",
        "since=x",
        "query=%00",
        "query=%25",
        "user=alice",
        "since=0001-01-01T00:00:00%2B14",
    ],
)
def test_a_bad_filter_is_refused(vera, cast, query):
    fault(vera.get(f"runs/?{query}"), 400)


def test_a_list_takes_a_few_queries_however_long(vera, cast, recorded_queries):
    for _ in range(30):
        make_run(cast)
    with recorded_queries():
        assert len(vera.get("runs/").json()["data"]) == 30


def test_run_is_exported_with_proof_and_that_is_recorded(site):
    caller = program(issue_key(site.cast.team, scopes=["audit:export"]).secret)
    run_id = program(site.key).post("runs/", ASKED).json()["id"]
    ended(program(site.key), run_id)
    answer = caller.get(f"runs/{run_id}/export/")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
    assert answer["Content-Disposition"] == f'attachment; filename="run-{run_id}.zip"'
    found = verify_bundle(io.BytesIO(answer.content), run=uuid.UUID(run_id))
    assert found.texts > 5
    assert actions(site.cast.team)[-1] == "run.exported"


def test_export_needs_a_right_of_its_own(site):
    run_id = make_run(site.cast)
    fault(program(site.key).get(f"runs/{run_id}/export/"), 403)
    assert member(site.cast.bob).get(f"runs/{run_id}/export/").status_code == 403


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"planner": "fallback", "tier": "ultra"}, "no_usable_plan"),
        ({"planner": "single_worker", "tier": "ultra"}, "tier_does_not_plan"),
        ({"planner": "single_worker", "tier": "direct"}, None),
        ({"planner": "language_model", "tier": "ultra"}, None),
    ],
)
def test_a_run_says_why_it_has_no_plan(vera, cast, values, why):
    run_id = make_run(cast, **values)
    assert vera.get(f"runs/{run_id}/").json()["missing_plan"] == why
    assert vera.get("runs/").json()["data"][0]["missing_plan"] == why
