"""A/B tests: a candidate answers the callers of some keys; both arms are on record."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
import pytest
from django.utils import timezone

from apps.accounts.models import Role, Scope
from apps.accounts.principal import member_principal
from apps.audit.rows import RowReport
from apps.core.errors import Conflict, InvalidFields, InvalidInput, NotAllowed, NotFound
from apps.engine.events import RunCreated
from apps.evaluation.ab.arms import active_tests, is_in_b
from apps.evaluation.ab.jobs import ab_tests_end
from apps.evaluation.ab.models import ABTest
from apps.evaluation.ab.report import ab_report
from apps.evaluation.ab.selectors import access_ab_test
from apps.evaluation.ab.services import ab_promote, ab_start, ab_stop
from apps.evaluation.promotions.promotion import candidate_demote
from apps.governance.services import feedback_give, policy_replace
from apps.pools.models import Worker
from apps.pools.selectors import access_pool
from apps.pools.serializers import pool_values
from apps.runs.models import Run, RunState, Source
from apps.runs.records.row_checks import rows_check
from apps.runs.selectors import run_events
from apps.runs.services import run_rerun
from tests.conftest import Site
from tests.evaluation.samples import entries_of
from tests.evaluation.test_shadow import SUM, pool_of
from tests.factories import ACTOR, IssuedKey, issue_key
from tests.patience import eventually

BIRCH = {"kind": "worker", "worker": "sim-birch"}
MINI = "conductor-mini"


def alice(site: Site):
    return member_principal(site.cast.alice, site.cast.team, Role.OWNER, {})


def start(site: Site, **values: Any) -> ABTest:
    """Start a test of tier mini as alice, beside sim-birch alone."""
    usual = {
        "name": "Birch for half",
        "pool": pool_of(site).name,
        "tier": "mini",
        "candidate": BIRCH,
    }
    return ab_start(
        team=site.cast.team, values={**usual, **values}, principal=alice(site)
    )


def key_in(site: Site, test: ABTest, arm: str, **limits: Any) -> IssuedKey:
    """Return a key of the team that a test puts into an arm."""
    percent = test.settings.get("percent", 50)
    while True:
        key = issue_key(site.cast.team, scopes=(Scope.RUN, Scope.DIRECT), **limits)
        if is_in_b(test.id, key.row.id, percent) == (arm == "b"):
            return key


def ask(site: Site, key: IssuedKey, prompt: str = SUM, **fields: Any) -> httpx.Response:
    body = {"model": MINI, "messages": [{"role": "user", "content": prompt}], **fields}
    return httpx.post(
        f"{site.api_url}/chat/completions",
        json=body,
        headers={"Authorization": f"Bearer {key.secret}"},
    )


def newest(site: Site) -> Run:
    return Run.objects.for_team(site.cast.team.id).latest("id")


def created(run: Run) -> RunCreated:
    event = run_events(run)[0].event
    assert isinstance(event, RunCreated)
    return event


def test_each_key_has_its_arm_and_the_record_says_which(site):
    test = start(site)
    for arm, tier in (("a", "mini"), ("b", "direct")):
        answer = ask(site, key_in(site, test, arm)).json()
        run = newest(site)
        assert (run.ab_test_id, run.ab_arm, run.model) == (test.id, arm, MINI)
        assert answer["model"] == MINI
        event = created(run)
        assert (event.ab_test, event.ab_arm, event.tier) == (str(test.id), arm, tier)
        served = json.loads(event.params or "{}").get("served")
        model = f"{pool_of(site).name}/worker/sim-birch"
        assert served == ({"model": model} if arm == "b" else None)
    assert "birch" in answer["choices"][0]["message"]["content"]


def test_a_key_stays_in_its_arm(site):
    test = start(site)
    key = key_in(site, test, "b")
    for _ in range(3):
        ask(site, key)
    arms = Run.objects.for_team(site.cast.team.id).values_list("ab_arm", flat=True)
    assert [*arms] == ["b", "b", "b"]


def test_the_share_of_keys_is_about_the_percentage():
    test_id = uuid.uuid4()
    keys = [uuid.uuid4() for _ in range(2_000)]
    in_b = sum(is_in_b(test_id, key, 20) for key in keys)
    assert 320 < in_b < 480


@pytest.mark.parametrize(
    "fields",
    [
        {"conductor": {"workers": ["sim-delta"]}},
        {"conductor": {"max_steps": 1}},
        {"conductor": {"max_cost_usd": "1"}},
        {"model": "worker/sim-delta"},
        {"model": "conductor-ultra"},
    ],
)
def test_requests_that_choose_themselves_are_in_no_arm(site, fields):
    test = start(site, percent=99)
    answer = ask(site, key_in(site, test, "b"), **fields)
    assert answer.status_code == 200, answer.text
    assert (newest(site).ab_test_id, newest(site).ab_arm) == (None, "")


def test_restricted_keys_and_people_are_in_no_arm(site):
    test = start(site)
    key = key_in(site, test, "b", allowed_tiers=["mini"])
    assert ask(site, key).status_code == 200
    assert newest(site).ab_test_id is None
    own = key_in(site, test, "b")
    ask(site, own)
    in_b = newest(site)
    again = run_rerun(in_b, alice(site))
    row = Run.objects.for_team(site.cast.team.id).filter(id=again)
    assert eventually(lambda: row.get().state == RunState.COMPLETED)
    assert (row.get().source, row.get().ab_test_id) == (Source.PLAYGROUND, None)
    assert created(row.get()).tier == "mini"


def test_higher_data_classes_are_in_no_arm(site):
    test = start(site, highest_data_class="internal")
    key = key_in(site, test, "b")
    ask(site, key)
    assert newest(site).ab_arm == "b"
    ask(site, key, conductor={"data_class": "confidential"})
    assert newest(site).ab_arm == ""
    ask(site, key, "Charge the card 4111 1111 1111 1111 please.")
    assert newest(site).ab_arm == ""


def test_policies_bind_both_arms(site):
    workers = Worker.objects.for_team(site.cast.team.id)
    workers.filter(name="sim-birch").update(tags=["outside"])
    test = start(site)
    rule = {
        "name": "Nothing outside",
        "conditions": {"plan_tags": ["outside"]},
        "effect": {"kind": "deny"},
    }
    policy_replace(team=site.cast.team, values={"rules": [rule]}, actor=ACTOR)
    assert ask(site, key_in(site, test, "b")).status_code == 403
    run = newest(site)
    assert (run.ab_arm, run.error_code) == ("b", "policy_denied")


def test_a_request_that_the_candidate_cannot_take_is_in_no_arm(site):
    workers = Worker.objects.for_team(site.cast.team.id)
    workers.filter(name="sim-birch").update(accepts_tools=False)
    test = start(site)
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    answer = ask(site, key_in(site, test, "b"), "Hello", tools=[tool])
    assert answer.status_code == 200
    assert newest(site).ab_test_id is None


def test_a_fixed_plan_answers_in_arm_b(site):
    chain = {"kind": "self_reflection", "worker": "sim-birch", "turns": 2}
    test = start(site, candidate=chain)
    ask(site, key_in(site, test, "b"))
    run = newest(site)
    assert (run.state, run.planner, run.steps_done) == (
        "completed",
        "self_reflection",
        2,
    )
    assert created(run).tier == "ultra"


def test_rows_of_both_arms_agree_with_the_ledger(site):
    test = start(site)
    for arm in ("a", "b"):
        ask(site, key_in(site, test, arm))
    run = newest(site)
    report = RowReport()
    rows_check(run.team_id, run.id, report)
    assert report.faults == []
    Run.objects.for_team(run.team_id).filter(id=run.id).update(ab_arm="a")
    rows_check(run.team_id, run.id, report)
    assert [fault.column for fault in report.faults] == ["ab_arm"]


def test_the_report_has_both_arms_and_their_difference(site):
    test = start(site)
    for arm in ("a", "b", "b"):
        ask(site, key_in(site, test, arm))
    feedback_give(run=newest(site), rating="up", actor=ACTOR)
    run = newest(site)
    report = ab_report(test)
    assert (report.a.runs, report.a.keys, report.b.runs, report.b.keys) == (1, 1, 2, 2)
    runs = Run.objects.for_team(site.cast.team.id).filter(ab_arm="b")
    assert report.b.cost_micros == sum(run.cost_micros for run in runs) > 0
    assert report.b.latency_ms[0] == min(run.latency_ms or 0 for run in runs)
    assert report.b.failures is not None
    assert report.failures is not None
    assert (report.b.failures.value, report.failures.value) == (0, 0)
    assert (report.b.opinions.up, report.a.opinions.up) == (1, 0)
    assert (report.rated_good, report.passed) == (None, None)
    Run.objects.for_team(run.team_id).filter(id=run.id).update(state="failed")
    failed = ab_report(test)
    assert failed.b.failures is not None
    assert failed.failures is not None
    assert (failed.b.failures.value, failed.failures.value) == (0.5, 0.5)


def test_stopping_gives_all_keys_back_to_the_tier(site):
    test = start(site)
    key = key_in(site, test, "b")
    ask(site, key)
    assert ab_stop(test=test, actor=ACTOR)
    assert not ab_stop(test=test, actor=ACTOR)
    ask(site, key)
    assert newest(site).ab_test_id is None
    (end,) = entries_of(site.cast.team, "ab_test.ended")
    assert (end["outcome"], end["runs_a"], end["runs_b"]) == ("stopped", 0, 1)
    assert len(entries_of(site.cast.team, "ab_test.stopped")) == 1


def test_it_ends_by_itself_at_its_number_of_runs(site):
    test = start(site, max_runs=1)
    ask(site, key_in(site, test, "b"))
    rows = ABTest.objects.for_team(test.team_id).filter(id=test.id)
    assert eventually(lambda: rows.get().outcome == "completed")
    ask(site, key_in(site, test, "b"))
    assert newest(site).ab_test_id is None


def test_it_ends_by_itself_at_its_date(site):
    test = start(site)
    ABTest.objects.for_team(test.team_id).update(until=timezone.now())
    assert (
        sum(ab_tests_end())
        + ABTest.objects.for_team(test.team_id).filter(outcome="completed").count()
        >= 1
    )
    (end,) = entries_of(site.cast.team, "ab_test.ended")
    assert end["outcome"] == "completed"


def test_it_ends_when_the_candidate_is_gone_and_callers_notice_nothing(site):
    site.add_worker("echo")
    test = start(site, candidate={"kind": "worker", "worker": "echo"})
    key = key_in(site, test, "b")
    pool_of(site).places.filter(worker__name="echo").delete()
    assert ask(site, key).status_code == 200
    rows = ABTest.objects.for_team(test.team_id).filter(id=test.id)
    assert eventually(lambda: rows.get().outcome == "failed")
    assert "echo" in rows.get().error


def test_promotion_ends_the_test_and_is_taken_back(site):
    pool = pool_of(site)
    before = pool_values(access_pool(site.cast.team.id, pool.id))
    test = start(site)
    ab_promote(test=test, principal=alice(site))
    assert not access_ab_test(team_id=test.team_id, test_id=test.id).is_open
    after = pool_values(access_pool(site.cast.team.id, pool.id))
    assert after["tiers"]["mini"]["planner"] == "single_worker"
    candidate_demote(test=test, principal=alice(site))
    assert pool_values(access_pool(site.cast.team.id, pool.id)) == before
    assert [
        len(entries_of(site.cast.team, f"ab_test.{e}"))
        for e in ("started", "promoted", "stopped", "ended", "demoted")
    ] == [1, 1, 1, 1, 1]


def test_a_tier_is_in_one_test_at_a_time(site):
    start(site)
    with pytest.raises(Conflict, match="in an A/B test already"):
        start(site)
    start(site, tier="ultra")


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"candidate": {"kind": "tier", "tier": "mini"}}, InvalidFields),
        (
            {"candidate": {"kind": "tier", "tier": "ultra", "max_steps": 0}},
            InvalidFields,
        ),
        (
            {"candidate": {"kind": "tier", "tier": "ultra", "workers": ["nobody"]}},
            InvalidInput,
        ),
        ({"candidate": {"kind": "random_plan"}}, InvalidFields),
        ({"candidate": {"kind": "worker", "worker": "nobody"}}, InvalidInput),
        ({"percent": 0}, InvalidFields),
        ({"percent": 100}, InvalidFields),
        ({"pool": "elsewhere"}, NotFound),
        ({"highest_data_class": "secret"}, InvalidFields),
        ({"max_runs": 0}, InvalidFields),
    ],
)
def test_bad_settings_are_refused(site, values, error):
    with pytest.raises(error):
        start(site, **values)
    assert not ABTest.objects.for_team(site.cast.team.id).exists()


def test_members_may_not_start_one_and_others_see_none(site):
    bob = member_principal(site.cast.bob, site.cast.team, Role.MEMBER, {})
    with pytest.raises(NotAllowed):
        ab_start(team=site.cast.team, values={}, principal=bob)
    test = start(site)
    with pytest.raises(NotFound):
        access_ab_test(team_id=site.cast.other_team.id, test_id=test.id)


def test_requests_cost_no_query_for_their_test(cast, django_assert_num_queries):
    active_tests()
    with django_assert_num_queries(0):
        places = active_tests()
    assert cast.team.id not in {team_id for team_id, _, _ in places}
