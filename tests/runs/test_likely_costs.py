"""Runs under a nearly used budget: who begins, who is refused, and before what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.budgets.models import Budget, Reservation
from apps.budgets.selectors import budget_list
from apps.core.money import usd_text
from apps.engine import events as ev
from apps.runs.execution.cost_cap import MAX_SHARES, share_of
from apps.runs.execution.executor import get_executor
from apps.runs.models import Run, RunState
from apps.runs.selectors import run_events
from apps.runs.services import run_start_detached
from tests.conftest import Site
from tests.patience import eventually
from tests.runs.asking import planned
from tests.runs.clients import Said, ask_all, request
from tests.runs.starting import on_loop, order
from tests.runs.test_budgets import codes, error_of, put, spent

DIRECT = "worker/sim-delta"
ULTRA = "conductor-ultra"
QUESTION = "What is 17 * 23 + 4?"
REFUSED = (429, "insufficient_quota")


def ask(
    site: Site, model: str, question: str = QUESTION, count: int = 1, **fields: object
) -> list[Said]:
    body = request(model, question, is_streamed=False) | fields
    return ask_all(site, [(str(n), "", body) for n in range(count)])


def usual_cost(site: Site, model: str, question: str = QUESTION) -> int:
    """Let the team get to know a model; return what a run of it costs."""
    for _ in range(3):
        (said,) = ask(site, model, question)
        assert said.status == 200, said.text
    runs = Run.objects.for_team(site.cast.team.id).filter(model=model)
    return max(run.cost_micros for run in runs)


def leave(site: Site, micros: int) -> Budget:
    """Set a budget of which so much is left."""
    return put(site.cast, usd_text(micros))


def runs_of(site: Site) -> list[Run]:
    return list(Run.objects.for_team(site.cast.team.id).order_by("id"))


def actions(run: Run) -> list[str]:
    return [recorded.event.action for recorded in run_events(run)]


@pytest.mark.parametrize("model", [DIRECT, ULTRA])
def test_of_25_at_once_the_two_that_fit_finish_and_no_other_one_pays(site, model):
    cost = usual_cost(site, model)
    known = len(runs_of(site))
    leave(site, cost * 29 // 10)
    assert codes(ask(site, model, count=25)) == {(200, ""): 2, REFUSED: 23}
    assert [run.state for run in runs_of(site)[known:]] == [RunState.COMPLETED] * 2
    assert spent(site.cast) == (2 * cost, 0)
    assert not Reservation.objects.for_team(site.cast.team.id).exists()


def test_one_after_the_other_runs_end_until_the_next_one_would_not(site):
    cost = usual_cost(site, ULTRA)
    known = len(runs_of(site))
    leave(site, cost * 39 // 10)
    said = [ask(site, ULTRA)[0] for _ in range(6)]
    assert codes(said) == {(200, ""): 3, REFUSED: 3}
    assert {run.state for run in runs_of(site)[known:]} == {RunState.COMPLETED}


def test_the_refusal_says_what_is_left_and_what_the_run_likely_costs(site):
    cost = usual_cost(site, ULTRA)
    leave(site, cost // 2)
    (said,) = ask(site, ULTRA)
    message = error_of(said)["message"]
    half = usd_text(cost // 2)
    assert f"the monthly budget of the team has ${half} of ${half} left" in message
    assert "this run likely costs $0.00" in message
    assert said.run_id == ""


def test_a_run_that_likely_fits_begins_however_long_its_answer_might_be(site):
    cost = usual_cost(site, DIRECT)
    # Its worker may write 4,096 tokens, for two dollars a million of them.
    assert cost * 3 // 2 < 4_096
    leave(site, cost * 3 // 2)
    assert codes(ask(site, DIRECT)) == {(200, ""): 1}


def test_a_long_prompt_is_refused_where_a_short_one_fits(site):
    cost = usual_cost(site, DIRECT)
    leave(site, cost * 2)
    long = f"{QUESTION} {'Mind every single word of this. ' * 200}"
    assert codes(ask(site, DIRECT, long)) == {REFUSED: 1}
    assert codes(ask(site, DIRECT)) == {(200, ""): 1}


def test_a_team_without_past_runs_may_begin_with_little(site):
    leave(site, 2_000)
    assert codes(ask(site, DIRECT)) == {(200, ""): 1}


def test_a_plan_that_likely_costs_too_much_ends_before_its_first_step(stage):
    site = stage.site
    left = usual_cost(site, ULTRA, planned([0])) * 7 // 4
    known = len(runs_of(site))
    leave(site, left)
    (said,) = ask(site, ULTRA, planned([0, 1, 0, 1, 0]))
    assert (said.status, error_of(said)["code"]) == REFUSED
    (run,) = runs_of(site)[known:]
    done = actions(run)
    assert "plan.replied" in done and "step.started" not in done
    message = error_of(said)["message"]
    assert f"budget of the team has ${usd_text(left)} of ${usd_text(left)}" in message
    assert f"${usd_text(run.cost_micros)} of it spent on planning" in message
    assert "the plan of this run likely costs $" in message
    assert spent(site.cast) == (run.cost_micros, 0)


def test_a_plan_that_needs_more_than_was_set_aside_gets_it_if_it_is_left(stage):
    site = stage.site
    cost = usual_cost(site, ULTRA, planned([0]))
    known = len(runs_of(site))
    left = 12 * cost
    leave(site, left)
    (said,) = ask(site, ULTRA, planned([0, 1, 0, 1, 0]))
    assert said.status == 200, said.text
    (run,) = runs_of(site)[known:]
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    assert created.limits["max_cost_micros"] == left // MAX_SHARES
    assert spent(site.cast) == (run.cost_micros, 0)


def test_a_limit_for_each_run_refuses_a_run_that_it_likely_cuts_off(site):
    cost = usual_cost(site, ULTRA)
    put(site.cast, usd_text(cost // 2), "run")
    (said,) = ask(site, ULTRA)
    assert (said.status, said.run_id) == (429, "")
    assert "the limit for each run of the team is" in error_of(said)["message"]
    assert "likely costs" in error_of(said)["message"]


def test_what_a_refused_run_names_as_left_is_left(site):
    cost = usual_cost(site, DIRECT)
    leave(site, cost // 2)
    (said,) = ask(site, DIRECT)
    (status,) = budget_list(site.cast.team.id)
    assert f"has ${usd_text(status.left_micros)} of" in error_of(said)["message"]


@pytest.mark.parametrize(
    ("times", "state", "code"),
    [(12, RunState.COMPLETED, ""), (2, RunState.FAILED, "insufficient_quota")],
)
def test_the_plan_of_a_run_that_was_queued_is_checked_too(
    stage, settings, times, state, code
):
    site = stage.site
    cost = usual_cost(site, ULTRA, planned([0]))
    leave(site, cost * times)
    settings.BACKGROUND_RUNS = "workers"
    queued = order(site.cast, planned([0, 1, 0, 1, 0]), model=ULTRA)
    run_id = on_loop(run_start_detached(queued))
    assert on_loop(get_executor().claim(run_id))
    rows = Run.objects.for_team(site.cast.team.id).filter(id=run_id)
    assert eventually(lambda: rows.get().is_over)
    run = rows.get()
    assert (run.state, run.error_code) == (state, code)
    assert spent(site.cast) == (run.cost_micros, 0)


# --- the arithmetic -------------------------------------------------------------------

AMOUNTS = st.integers(min_value=1, max_value=10**12)


@given(likely=AMOUNTS, more=st.integers(0, 10**12), wanted=AMOUNTS)
def test_a_share_holds_the_likely_cost_and_no_more_than_is_left(likely, more, wanted):
    left = likely + more
    share = share_of(left, likely, max(wanted, likely))
    assert likely <= share <= min(left, max(wanted, likely))


@given(likely=AMOUNTS, fitting=st.integers(1, MAX_SHARES), rest=st.integers(0, 10**6))
def test_as_many_runs_get_a_share_as_likely_fit(likely, fitting, rest):
    left = likely * fitting + rest % likely
    shares = []
    while left >= likely:
        shares.append(share_of(left, likely, 10**15))
        left -= shares[-1]
    assert len(shares) == fitting
