"""The test of a conductor asks for a plan and reads it, as a run would.

Promise O2: a model that cannot plan does not pass.
"""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from apps.pools.models import Conductor
from apps.pools.selectors import last_test
from apps.pools.services import conductor_test
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.pools.making import entries, make_conductor, make_worker

MODES = ("lists", "json_schema")


def tried(row: Conductor) -> Any:
    test = async_to_sync(conductor_test)
    return test(team_id=row.team_id, conductor_id=row.id, actor=ACTOR)


@pytest.mark.parametrize("mode", MODES)
def test_conductor_that_plans_passes_with_the_steps_of_its_plan(
    cast: Cast, simulator_url: str, mode: str
):
    row = make_conductor(
        cast.team, base_url=simulator_url, model="sim-conductor", mode=mode
    )
    result = tried(row)
    assert (result.ok, result.error_code, result.plan_steps) == (True, "", 3)
    entry = entries(cast.team)[-1]
    assert (entry.outcome, entry.data["plan_steps"]) == ("success", 3)


@pytest.mark.parametrize(
    ("mode", "model"), [("lists", "instant"), ("json_schema", "sim-conductor-prose")]
)
def test_model_that_answers_the_question_instead_of_planning_fails(
    cast: Cast, simulator_url: str, mode: str, model: str
):
    row = make_conductor(cast.team, base_url=simulator_url, model=model, mode=mode)
    result = tried(row)
    assert (result.ok, result.error_code) == (False, "unparseable")
    assert result.message.startswith("its answer is not a plan: ")
    assert result.answer
    assert result.plan_steps is None
    assert entries(cast.team)[-1].outcome == "failure"
    row.refresh_from_db()
    assert last_test(row) == result


def test_plan_that_does_not_fit_its_limit_of_tokens_fails(
    cast: Cast, simulator_url: str
):
    row = make_conductor(
        cast.team, base_url=simulator_url, model="sim-conductor", max_output_tokens=20
    )
    assert tried(row).error_code == "truncated"


def test_plan_that_breaks_a_rule_fails_by_name(cast: Cast, simulator_url: str):
    row = make_conductor(
        cast.team, base_url=simulator_url, model="sim-conductor-unknown", mode="lists"
    )
    result = tried(row)
    assert (result.ok, result.error_code) == (False, "unknown_worker")


def test_result_of_before_plans_were_read_is_told_from_one_with_a_plan(
    cast: Cast, simulator_url: str
):
    row = make_conductor(cast.team, base_url=simulator_url, model="sim-conductor")
    tried(row)
    row.refresh_from_db()
    assert row.last_test is not None
    del row.last_test["plan_steps"]
    kept = last_test(row)
    assert kept is not None
    assert kept.plan_steps is None


def test_begun_reasoning_is_asked_for_only_where_plans_are_lists(
    cast: Cast, simulator_url: str
):
    for mode, shown in (("lists", {"accepts_prefill"}), ("json_schema", set())):
        row = make_conductor(
            cast.team,
            name=f"c-{mode}",
            base_url=simulator_url,
            model="sim-conductor",
            uses_prefill=True,
            mode=mode,
        )
        result = tried(row)
        assert (result.ok, set(result.abilities)) == (True, shown)


def test_test_shows_the_plan_with_the_workers_of_the_team(
    cast: Cast, simulator_url: str
):
    for name in ("quick", "strong"):
        make_worker(cast.team, name=name)
    row = make_conductor(cast.team, base_url=simulator_url, model="sim-conductor")
    result = tried(row)
    assert len(result.plan) == result.plan_steps
    assert {step.worker for step in result.plan} <= {"quick", "strong"}
    assert all(step.subtask for step in result.plan)
    row.refresh_from_db()
    assert last_test(row) == result
    assert "plan" not in entries(cast.team)[-1].data
