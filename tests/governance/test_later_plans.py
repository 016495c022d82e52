"""Policies bind every later plan: continuations, replans and second rounds."""

from __future__ import annotations

from typing import Any

import pytest
from openai import OpenAI

from apps.engine import events as ev
from apps.engine.errors import CallFailed, CallFault
from apps.engine.gate import ApprovalOutcome
from apps.engine.limits import Limits
from apps.engine.testing import ScriptedPlanner, make_plan
from apps.planners.tool_continuation import ToolContinuationPlanner
from tests.conftest import Site
from tests.gateway.test_tools_live import ask, told
from tests.governance.policy_runs import GivenPolicies, Ran, policy, run
from tests.governance.test_policies import in_force, last_events, tag

NO_US = {"name": "Not in the US", "effect": {"kind": "no_workers", "tags": ["us"]}}
DENY = {"name": "Not any more", "effect": {"kind": "deny"}}
HOLD = {"name": "Held", "effect": {"kind": "require_approval"}}
FIRST, OF_A = make_plan(("b", ())), make_plan(("a", ()))
TWO_ROUNDS = Limits(max_rounds=2)


def b_fails(call: Any, number: int) -> str | CallFailed:
    """Let `b` fail for good, so that there is another plan; `c` stands in for none."""
    if call.worker in "bc":
        return CallFailed(CallFault.UNAUTHORIZED, "for a test")
    return f"{call.worker} says {number}"


def rejected(ran: Ran) -> list[str]:
    return [each.reason for each in ran.of(ev.PlanRejectedEvent)]


# --- replans and second rounds --------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "limits"), [(b_fails, Limits()), (None, TWO_ROUNDS)]
)
def test_a_later_plan_never_calls_a_refused_worker(answer: Any, limits: Limits) -> None:
    planner = ScriptedPlanner(FIRST, OF_A)
    free = run(GivenPolicies(()), planner, answer, limits=limits)
    assert "a" in free.called, "without the rule the second plan calls it"
    ran = run(GivenPolicies((policy(NO_US),)), planner, answer, limits=limits)
    assert len(planner.requests) > 2, "another plan was asked for"
    assert "a" not in ran.called
    assert any("'a'" in reason for reason in rejected(ran))


@pytest.mark.parametrize(
    ("answer", "limits"), [(b_fails, Limits()), (None, TWO_ROUNDS)]
)
def test_a_rule_of_meanwhile_binds_the_next_plan(answer: Any, limits: Limits) -> None:
    planner = ScriptedPlanner(FIRST, OF_A)
    later = (4, (policy(NO_US),))  # after admission, run, plan and the first call
    ran = run(GivenPolicies((), later=later), planner, answer, limits=limits)
    assert ran.called[0] == "b"
    assert "a" not in ran.called


def test_a_rule_about_plans_binds_the_second_one_too() -> None:
    in_chains = {**NO_US, "conditions": {"steps_over": 1}}
    chain = make_plan(("b", ()), ("a", (0,)))
    ran = run(
        GivenPolicies((policy(in_chains),)),
        ScriptedPlanner(FIRST, chain),
        limits=TWO_ROUNDS,
    )
    assert set(ran.called) == {"b"}
    (reason, *_) = rejected(ran)
    assert "worker 'a' may not be used: Rule 'Not in the US' says" in reason


def test_a_deny_rule_of_meanwhile_stops_before_the_second_round() -> None:
    ran = run(
        GivenPolicies((), later=(4, (policy(DENY),))),
        ScriptedPlanner(FIRST, OF_A),
        limits=TWO_ROUNDS,
    )
    assert (ran.called, ran.end.code) == (["b"], "policy_denied")
    assert "'Not any more'" in ran.end.message


@pytest.mark.parametrize(
    ("answer", "limits"), [(b_fails, Limits()), (None, TWO_ROUNDS)]
)
def test_each_later_plan_needs_an_approval_of_its_own(
    answer: Any, limits: Limits
) -> None:
    planner = ScriptedPlanner(FIRST, OF_A)
    ran = run(GivenPolicies((policy(HOLD),)), planner, answer, limits=limits)
    asked = [each.workers for each in ran.of(ev.ApprovalRequested)]
    assert asked == [("b",), ("a",)]
    refused = ApprovalOutcome("refused", ("Alice",), reason="no")
    ran = run(GivenPolicies((policy(HOLD),), refused), planner, answer, limits=limits)
    assert (ran.called, ran.end.code) == ([], "approval_refused")


# --- approved plans -------------------------------------------------------------------


def test_a_plan_that_is_accepted_goes_on_when_an_approval_rule_comes_into_force() -> (
    None
):
    later = (3, (policy(HOLD),))  # after admission, run and plan
    ran = run(GivenPolicies((), later=later), ScriptedPlanner(FIRST))
    assert (ran.called, ran.of(ev.ApprovalRequested)) == (["b"], [])
    assert isinstance(ran.end, ev.RunCompleted)


@pytest.mark.parametrize("rule", [DENY, NO_US])
def test_other_rules_bind_an_accepted_plan_at_its_next_call(
    rule: dict[str, Any],
) -> None:
    chain = make_plan(("b", ()), ("a", (0,)))
    later = (4, (policy(rule),))  # after admission, run, plan and the first call
    ran = run(GivenPolicies((), later=later), ScriptedPlanner(chain))
    assert ran.called[0] == "b"
    assert "a" not in ran.called


def test_an_edited_plan_may_not_use_a_refused_worker() -> None:
    edited = ApprovalOutcome("approved", ("Alice",), OF_A)
    gates = GivenPolicies((policy(HOLD, NO_US),), edited)
    ran = run(gates, ScriptedPlanner(FIRST))
    assert "a" not in ran.called


# --- continuations --------------------------------------------------------------------


@pytest.mark.parametrize("checks", [0, 2, 3])
def test_a_continuation_never_calls_a_refused_worker(checks: int) -> None:
    planner = ToolContinuationPlanner("a")
    assert run(GivenPolicies(()), planner).called == ["a"]
    ran = run(GivenPolicies((), later=(checks, (policy(NO_US),))), planner)
    assert "a" not in ran.called
    assert ran.called, "another worker goes on"
    assert isinstance(ran.end, ev.RunCompleted)


def test_a_continuation_that_only_a_refused_worker_could_do_is_denied() -> None:
    only = {"name": "Moon", "effect": {"kind": "only_workers", "tags": ["moon"]}}
    ran = run(GivenPolicies((policy(only),)), ToolContinuationPlanner("a"))
    assert (ran.called, ran.end.code) == ([], "policy_denied")
    assert "'Moon'" in ran.end.message


def test_a_continuation_waits_for_its_approval() -> None:
    gates = GivenPolicies((policy(HOLD),), ApprovalOutcome("expired"))
    ran = run(gates, ToolContinuationPlanner("a"))
    assert (ran.called, ran.end.code) == ([], "approval_expired")


def started(site: Site) -> set[str]:
    return {e.worker for e in last_events(site) if isinstance(e, ev.StepStarted)}


@pytest.mark.parametrize("model", ["conductor-mini", "conductor-ultra"])
def test_results_of_tools_go_to_no_refused_worker(site: Site, model: str) -> None:
    client = OpenAI(base_url=site.api_url, api_key=site.key, max_retries=0)
    first = ask(client, model, tool_choice="required")
    worker = told(first)["worker"]
    tag(site, worker, "us")
    in_force(site, NO_US)
    message = first.choices[0].message
    (call,) = message.tool_calls or []
    result = {"role": "tool", "tool_call_id": call.id, "content": "31 degrees"}
    second = ask(client, model, message.model_dump(exclude_none=True), result)
    assert "31 degrees" in (second.choices[0].message.content or "")
    assert started(site) == {"sim-birch", "sim-delta"} - {worker}
