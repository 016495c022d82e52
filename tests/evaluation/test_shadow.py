"""Shadow tests mirror original run to a candidate, and answer no caller."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.audit.models import Content, JobState
from apps.audit.services import content_erase
from apps.core.errors import Conflict, InvalidFields, InvalidInput, NotAllowed, NotFound
from apps.engine.events import RunCreated
from apps.evaluation.promotions.promotion import (
    candidate_demote,
    candidate_promote,
    why_not_promotable,
)
from apps.evaluation.shadow.agreement import (
    answers_agree,
    judgement_read,
    judging_prompt,
)
from apps.evaluation.shadow.candidate_runs import ERASED
from apps.evaluation.shadow.models import Judgement, MirrorState, ShadowTest
from apps.evaluation.shadow.report import shadow_report
from apps.evaluation.shadow.selectors import access_shadow, mirrored_of
from apps.evaluation.shadow.services import shadow_start, shadow_stop
from apps.governance.services import feedback_give, policy_replace
from apps.pools.models import Pool, Worker
from apps.pools.selectors import access_pool
from apps.pools.serializers import pool_values
from apps.runs.models import Run, RunState, Source
from apps.runs.selectors import run_events, run_view
from tests.conftest import Site, membership
from tests.evaluation.samples import entries_of
from tests.evaluation.test_driver import slow as slow
from tests.factories import ACTOR
from tests.patience import eventually

BIRCH = {"kind": "worker", "worker": "sim-birch"}
SUM = "What is 17 * 23 + 4?"


def pool_of(site: Site) -> Pool:
    return site.cast.team.pools.get(is_default=True)


def alice(site: Site):
    return member_principal(site.cast.alice, site.cast.team, Role.OWNER, {})


def start(site: Site, **values: Any) -> ShadowTest:
    """Start a test of tier mini as alice, beside sim-birch alone."""
    principal = alice(site)
    usual = {
        "name": "Birch alone",
        "pool": pool_of(site).name,
        "tier": "mini",
        "candidate": BIRCH,
        "max_cost_micros": 5_000_000,
    }
    return shadow_start(
        team=site.cast.team,
        values={**usual, **values},
        principal=principal,
        actor=principal.actor,
    )


def ask(site: Site, prompt: str = SUM, **fields: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": prompt}], **fields}
    answer = httpx.post(
        f"{site.api_url}/chat/completions",
        json={"model": "conductor-mini", **body},
        headers={"Authorization": f"Bearer {site.key}"},
    )
    return dict(answer.json())


def ended(test: ShadowTest) -> ShadowTest:
    """Return a test once a process of the site has ended it."""
    rows = ShadowTest.objects.for_team(test.team_id).filter(id=test.id)
    assert eventually(lambda: rows.filter(state=JobState.DONE).exists())
    return rows.get()


def runs_of(site: Site, source: str):
    return Run.objects.for_team(site.cast.team.id).filter(source=source)


def test_original_runs_are_mirrored_in_the_name_of_who_started_the_test(site):
    test = start(site, max_runs=2)
    before = [ask(site), ask(site, "What is the capital of Italy?")]
    test = ended(test)
    assert test.outcome == "completed"
    original, mirrors = runs_of(site, Source.API), runs_of(site, Source.SHADOW)
    assert (original.count(), mirrors.count()) == (2, 2)
    assert {(run.user_id, run.api_key_id) for run in mirrors} == {
        (site.cast.alice.id, None)
    }
    assert {run.model.rpartition("/")[2] for run in mirrors} == {"sim-birch"}
    texts = [answer["choices"][0]["message"]["content"] for answer in before]
    answers = [run_view(run).answer for run in original.order_by("id")]
    assert texts == answers
    report = shadow_report(test)
    assert (report.mirrored, report.compared, report.open) == (2, 2, 0)
    assert report.agreement is not None
    assert report.original.cost_micros == sum(run.cost_micros for run in original)
    assert report.candidate.cost_micros == sum(run.cost_micros for run in mirrors)
    assert report.spent_micros == report.candidate.cost_micros
    created = run_events(mirrors.latest("id"))[0].event
    assert isinstance(created, RunCreated)
    mirrored = json.loads(created.params)["mirrors"]
    assert mirrored["run_id"] in {str(run.id) for run in original}
    assert mirrored["api_key_id"] == str(site.cast.key.row.id)
    assert [
        len(entries_of(site.cast.team, f"shadow_test.{e}"))
        for e in ("started", "ended")
    ] == [1, 1]


def test_recorded_runs_are_mirrored_by_time(site):
    early = timezone.now()
    for _ in range(3):
        ask(site)
    test = ended(start(site, since=early.isoformat(), max_runs=3))
    assert shadow_report(test).compared == 3
    later = (early - timedelta(days=10)).isoformat()
    none = ended(start(site, since=later, days=1))
    assert (none.outcome, shadow_report(none).mirrored) == ("completed", 0)


def test_runs_of_other_tiers_sources_and_the_test_itself_are_left_alone(site):
    early = timezone.now().isoformat()
    ask(site, model="conductor-ultra")
    ask(site, model="worker/sim-delta")
    ask(site)
    test = ended(start(site, since=early, max_runs=1))
    (row,) = mirrored_of(test)
    (original,) = runs_of(site, Source.API).filter(id=row.original_run_id)
    assert original.model == "conductor-mini"
    other = start(site, since=early, sources=["playground"], name="Pages")
    assert eventually(
        lambda: (
            access_shadow(team_id=test.team_id, test_id=other.id).beat_at
            > other.beat_at
        )
    )
    assert not mirrored_of(other).exists()


def mirrored(site: Site, **filters: Any) -> set[uuid.UUID]:
    """Return the recorded runs that a test with some filters mirrors."""
    hour_ago = timezone.now() - timedelta(hours=1)
    test = start(site, since=hour_ago.isoformat(), filters=filters)
    looked = ShadowTest.objects.for_team(test.team_id).filter(
        id=test.id, looked_until__gt=test.looked_until
    )
    assert eventually(looked.exists)
    shadow_stop(test=test, actor=ACTOR)
    ended(test)
    return set(mirrored_of(test).values_list("original_run_id", flat=True))


def test_recorded_runs_are_chosen_by_the_filters_of_the_list(site):
    ask(site)
    ask(site, "What is the capital of Italy?")
    first, second = runs_of(site, Source.API).order_by("id")
    feedback_give(run=second, rating="down", actor=ACTOR)
    runs_of(site, Source.API).filter(id=first.id).update(cost_micros=9_000_000)
    key = str(site.cast.key.row.id)
    assert mirrored(site, api_key_id=key) == {first.id, second.id}
    assert mirrored(site, user_id=str(site.cast.bob.id)) == set()
    assert mirrored(site, query="capital of") == {second.id}
    assert mirrored(site, min_cost_micros=9_000_000) == {first.id}
    assert mirrored(site, max_cost_micros=8_999_999) == {second.id}
    assert mirrored(site, feedback="down") == {second.id}
    assert mirrored(site, feedback="up") == set()
    assert mirrored(site, state="failed") == set()
    runs_of(site, Source.API).filter(id=first.id).update(planner="light_explored")
    assert mirrored(site) == {second.id}


def test_recorded_runs_are_chosen_by_the_data_class_that_the_policy_found(site):
    rule = {
        "name": "Restricted prompts",
        "mode": "shadow",
        "conditions": {"data_class": "restricted"},
        "effect": {"kind": "deny"},
    }
    policy_replace(team=site.cast.team, values={"rules": [rule]}, actor=ACTOR)
    ask(site)
    ask(site, conductor={"data_class": "confidential"})
    first, second = runs_of(site, Source.API).order_by("id")
    assert mirrored(site, data_classes=["confidential"]) == {second.id}
    assert mirrored(site, data_classes=["internal", "confidential"]) == {
        first.id,
        second.id,
    }


def test_runs_from_now_on_are_chosen_when_they_have_ended(site):
    test = start(site, max_runs=1, filters={"state": "completed", "query": "capital"})
    ask(site)
    ask(site, "What is the capital of Italy?")
    test = ended(test)
    (row,) = mirrored_of(test)
    assert (
        runs_of(site, Source.API).get(id=row.original_run_id).title.endswith("Italy?")
    )


def test_a_model_compares_answers_that_differ(site):
    site.add_worker("scripted")
    reply = json.dumps({"reason": "Shorter.", "better": "same"})
    site.add_worker("echo")
    echo = {"kind": "worker", "worker": "echo"}
    test = start(site, candidate=echo, grader="scripted", max_runs=1)
    ask(site, f"Write a poem. [[say {reply}]]")
    test = ended(test)
    (row,) = mirrored_of(test)
    assert (row.agrees, row.judgement) == (False, Judgement.SAME)
    (judging,) = runs_of(site, Source.SHADOW).filter(id=row.judging_run_id)
    assert (judging.source, judging.user_id) == (Source.SHADOW, site.cast.alice.id)
    report = shadow_report(test)
    assert report.judging_cost_micros == judging.cost_micros > 0
    shadows = runs_of(site, Source.SHADOW)
    assert report.spent_micros == sum(run.cost_micros for run in shadows)
    assert report.not_worse is not None
    assert report.not_worse.value == 1


def test_a_reply_that_judges_nothing_is_named(site):
    site.add_worker("scripted")
    site.add_worker("echo")
    echo = {"kind": "worker", "worker": "echo"}
    test = start(site, candidate=echo, grader="scripted", max_runs=1)
    ask(site, "Write a poem. [[say I like both]]")
    (row,) = mirrored_of(ended(test))
    assert (row.state, row.judgement) == (MirrorState.DONE, "")
    assert row.cause


def test_rules_apply_as_to_the_caller_of_the_original_run(site):
    site.add_worker("echo")
    workers = Worker.objects.for_team(site.cast.team.id)
    workers.filter(name="echo").update(tags=["outside"])
    rule = {
        "name": "Not outside for this key",
        "conditions": {
            "key_ids": [str(site.cast.key.row.id)],
            "plan_tags": ["outside"],
        },
        "effect": {"kind": "deny"},
    }
    policy_replace(team=site.cast.team, values={"rules": [rule]}, actor=ACTOR)
    echo = {"kind": "worker", "worker": "echo"}
    test = start(site, candidate=echo, max_runs=1)
    ask(site)
    (row,) = mirrored_of(ended(test))
    assert (row.original_error, row.error) == ("", "policy_denied")


def test_the_budget_of_the_test_ends_it(site):
    test = start(site, max_cost_micros=1)
    ask(site)
    test = ended(test)
    assert (test.outcome, "are left" in test.error) == ("budget", True)
    assert not runs_of(site, Source.SHADOW).exists()


def test_without_a_cost_limit_it_goes_on_and_needs_no_prices(site):
    site.cast.team.workers.get(name="sim-birch").prices.all().delete()
    test = start(site, max_cost_micros=None, max_runs=1)
    ask(site)
    test = ended(test)
    assert (test.outcome, test.error) == ("completed", "")
    (run,) = runs_of(site, Source.SHADOW)
    assert run.state == "completed"


def test_stopping_cancels_what_goes_on_and_sets_nothing_aside(site, slow):
    test = start(site, candidate={"kind": "worker", "worker": slow})
    ask(site)
    started = mirrored_of(test).filter(state=MirrorState.STARTED)
    assert eventually(started.exists)
    assert shadow_stop(test=test, actor=ACTOR)
    assert not shadow_stop(test=test, actor=ACTOR)
    test = ended(test)
    assert test.outcome == "stopped"
    (run,) = runs_of(site, Source.SHADOW)
    assert run.state == RunState.CANCELLED
    assert shadow_report(test).spent_micros == run.cost_micros


def test_a_run_that_was_about_to_begin_begins_once(site):
    early = timezone.now().isoformat()
    ask(site)
    test = start(site, since=early, max_runs=1, days=1)
    (live,) = runs_of(site, Source.API)
    row, _ = mirrored_of(test).get_or_create(
        original_run_id=live.id, defaults={"team_id": test.team_id, "test": test}
    )
    lost = mirrored_of(test).filter(
        id=row.id, state__in=(MirrorState.PENDING, MirrorState.WAITING)
    )
    lost.update(state=MirrorState.STARTED, cost_micros=1_000)  # and its process died
    (row,) = mirrored_of(ended(test))
    (run,) = runs_of(site, Source.SHADOW)
    assert (row.state, row.run_id) == (MirrorState.DONE, run.id)
    assert row.cost_micros == run.cost_micros


def test_it_ends_when_its_starter_leaves_the_team(site):
    test = start(site)
    membership(site.cast.team, site.cast.alice).delete()
    ask(site)
    test = ended(test)
    assert test.outcome == "failed"
    assert "no longer a member" in test.error


def test_an_erased_prompt_is_left_out(site):
    early = timezone.now().isoformat()
    ask(site)
    (run,) = runs_of(site, Source.API)
    texts = Content.objects.for_team(run.team_id).values_list("seq", "name")
    content_erase(team_id=run.team_id, places=texts, actor=ACTOR, reason="old")
    test = start(site, since=early)
    assert eventually(mirrored_of(test).filter(state=MirrorState.SKIPPED).exists)
    assert shadow_report(test).skipped == {ERASED: 1}


def test_a_worker_is_promoted_to_the_tier_and_back(site):
    pool = pool_of(site)
    before = pool_values(access_pool(site.cast.team.id, pool.id))
    test = start(site, max_runs=1)
    candidate_promote(test=test, principal=alice(site))
    after = pool_values(access_pool(site.cast.team.id, pool.id))
    assert after["tiers"]["mini"]["planner"] == "single_worker"
    assert after["tiers"]["ultra"] == before["tiers"]["ultra"]
    assert "birch" in ask(site)["choices"][0]["message"]["content"]
    with pytest.raises(Conflict, match="promoted already"):
        candidate_promote(test=test, principal=alice(site))
    candidate_demote(test=test, principal=alice(site))
    assert pool_values(access_pool(site.cast.team.id, pool.id)) == before
    promoted, demoted = (
        entries_of(site.cast.team, f"shadow_test.{e}")[0]
        for e in ("promoted", "demoted")
    )
    assert promoted["after"] == demoted["before"]


def test_a_tier_that_was_changed_since_does_not_go_back(site):
    test = start(site)
    candidate_promote(test=test, principal=alice(site))
    pool = pool_of(site)
    pool.tiers.filter(name="mini").update(planner="conductor")
    with pytest.raises(Conflict, match="changed since"):
        candidate_demote(test=test, principal=alice(site))


def test_what_no_tier_can_be_is_not_promoted(site):
    chain = {"kind": "self_reflection", "worker": "sim-birch", "turns": 2}
    test = start(site, candidate=chain)
    assert "is a fixed plan" in why_not_promotable(test)
    with pytest.raises(Conflict, match="is a fixed plan"):
        candidate_promote(test=test, principal=alice(site))
    ultra = start(site, candidate={"kind": "tier", "tier": "ultra", "max_rounds": 2})
    assert why_not_promotable(ultra) == ""
    candidate_promote(test=ultra, principal=alice(site))
    tiers = pool_values(access_pool(site.cast.team.id, pool_of(site).id))["tiers"]
    assert tiers["mini"] == {**tiers["ultra"], "max_rounds": 2}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"candidate": {"kind": "tier", "tier": "mini"}}, InvalidFields),
        ({"candidate": {"kind": "random_plan"}}, InvalidFields),
        ({"candidate": {"kind": "worker", "worker": "nobody"}}, InvalidInput),
        ({"percent": 0}, InvalidFields),
        ({"percent": 101}, InvalidFields),
        ({"pool": "elsewhere"}, NotFound),
        ({"since": "2026-11-24T10:00:00"}, InvalidFields),
        ({"max_cost_micros": 0}, InvalidFields),
        ({"grader": "nobody"}, InvalidInput),
        ({"name": "two\nlines"}, InvalidFields),
        ({"filters": {"feedback": "down"}}, InvalidFields),
        ({"filters": {"state": "running"}}, InvalidFields),
        ({"filters": {"who": "alice"}}, InvalidFields),
    ],
)
def test_bad_settings_are_refused(site, values, error):
    with pytest.raises(error):
        start(site, **values)
    assert not ShadowTest.objects.for_team(site.cast.team.id).exists()


def test_members_may_not_start_one_and_others_see_none(site):
    bob = member_principal(site.cast.bob, site.cast.team, Role.MEMBER, {})
    with pytest.raises(NotAllowed):
        shadow_start(
            team=site.cast.team,
            values={
                "name": "x",
                "pool": pool_of(site).name,
                "tier": "mini",
                "candidate": BIRCH,
                "max_cost_micros": 1,
            },
            principal=bob,
            actor=bob.actor,
        )
    test = start(site)
    with pytest.raises(NotFound):
        access_shadow(team_id=site.cast.other_team.id, test_id=test.id)


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("It is so.\nThe answer is 4.", "**4**", True),
        (r"\boxed{4}", "Answer:  4", True),
        ("Rome", "rome", True),
        ("4", "5", False),
    ],
)
def test_answers_agree_by_their_final_answers(one, other, agree):
    assert answers_agree(one, other) is agree


def test_the_places_of_the_answers_follow_from_the_id():
    ids = [uuid.uuid4() for _ in range(200)]
    firsts = 0
    for run_id in ids:
        prompt = judging_prompt("Q", "ORIGINAL", "CANDIDATE", run_id=run_id, mark="m")
        is_first = prompt.index("CANDIDATE") < prompt.index("ORIGINAL\n")
        firsts += is_first
        better = "first" if is_first else "second"
        found = judgement_read(json.dumps({"better": better}), run_id=run_id)
        assert found == Judgement.CANDIDATE
    assert 60 < firsts < 140
