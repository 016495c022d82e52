"""Policies restrict the plans near the best one before one of them is drawn."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.limits import Limits
from apps.planners.light.exploring import EXPLORED
from apps.planners.light.planner import LightPlanner
from apps.runs.types import RunRestrictions
from tests.governance.policy_runs import ORDER, GivenPolicies, Ran, policy, run
from tests.planners.light.builders import SUM, checkers

PLANNER = LightPlanner(checkers("abc"), 1, answer_worth_micros=math.inf)
"""Every plan of an answer and its check is as good as the next to it."""
FAMILIAR = replace(ORDER, prompt=SUM)
"""Of a kind that it has learned from."""
SEEDS = [f"run {number}" for number in range(40)]
HOLD = {"kind": "require_approval"}
NO_US = {"kind": "no_workers", "tags": ["us"]}


def rule(effect: dict[str, Any], **conditions: Any) -> dict[str, Any]:
    return {"name": "A rule", "effect": effect, "conditions": conditions}


def explored(*rules: dict[str, Any], **given: Any) -> list[Ran]:
    gates = (policy(*rules),) if rules else ()
    given = {"order": FAMILIAR, **given}
    return [
        run(GivenPolicies(gates), PLANNER.exploring(seed), **given) for seed in SEEDS
    ]


def accepted(ran: Ran) -> ev.PlanAccepted:
    (found,) = ran.of(ev.PlanAccepted)
    assert isinstance(found, ev.PlanAccepted)
    return found


def workers_of(runs: list[Ran]) -> Counter[str]:
    return Counter(name for ran in runs for name in accepted(ran).workers)


def planners_of(runs: list[Ran]) -> set[str]:
    return {accepted(ran).planner for ran in runs}


def test_without_rules_every_worker_is_tried() -> None:
    runs = explored()
    assert set(workers_of(runs)) == {"a", "b", "c"}
    assert planners_of(runs) == {EXPLORED}


def test_a_refused_worker_is_in_no_drawn_plan() -> None:
    runs = explored(rule(NO_US))
    assert set(workers_of(runs)) == {"b", "c"}
    assert planners_of(runs) == {EXPLORED}
    assert not any(ran.of(ev.PlanRejectedEvent) for ran in runs)


@pytest.mark.parametrize(("stated", "tried"), [("confidential", "bc"), (None, "abc")])
def test_a_data_class_keeps_its_workers(stated: str | None, tried: str) -> None:
    order = replace(FAMILIAR, restrictions=RunRestrictions(data_class=stated))
    runs = explored(rule(NO_US, data_class="confidential"), order=order)
    assert set(workers_of(runs)) == set(tried)


def test_a_plan_that_needs_an_approval_is_not_drawn() -> None:
    runs = explored(rule(HOLD, cost_over_usd="1"))  # c has no price
    assert set(workers_of(runs)) == {"a", "b"}
    assert planners_of(runs) == {EXPLORED}
    assert not any(ran.of(ev.ApprovalRequested) for ran in runs)


def test_a_plan_that_a_rule_denies_is_not_drawn() -> None:
    runs = explored(rule({"kind": "deny"}, cost_over_usd="1"))
    assert set(workers_of(runs)) == {"a", "b"}
    assert {ran.end.action for ran in runs} == {"run.completed"}


def test_where_people_must_approve_the_best_plan_they_see_that_one() -> None:
    best = run(GivenPolicies(()), PLANNER, order=FAMILIAR)
    for ran in explored(rule(HOLD)):
        (request,) = ran.of(ev.ApprovalRequested)
        assert request.workers == accepted(best).workers
        assert accepted(ran).planner == "light"


def test_a_smaller_limit_of_steps_holds() -> None:
    limits = {"kind": "limit", "max_steps": 1}
    assert {len(accepted(ran).workers) for ran in explored(rule(limits))} == {1}


def test_a_worker_without_a_price_is_not_drawn_where_the_cost_is_limited() -> None:
    runs = explored(limits=Limits(max_cost_micros=10**9))
    assert set(workers_of(runs)) == {"a", "b"}


def test_looking_at_plans_leaves_no_entry() -> None:
    held = rule(HOLD, cost_over_usd="1")
    plain = run(GivenPolicies((policy(held),)), PLANNER, order=FAMILIAR)
    for ran in explored(held):
        assert [each.action for each in ran.events] == [
            each.action for each in plain.events
        ]
