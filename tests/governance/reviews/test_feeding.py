"""What gets into the review queue, by which rule, and only once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from apps.accounts.models import Scope
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.ids import first_id, is_sampled, new_id
from apps.engine.codec import encode
from apps.engine.events import PolicyDecided
from apps.governance.models import ReviewItem, ReviewPending, ReviewSettings
from apps.governance.reviews import feeding
from apps.runs.models import Run
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.governance.reviews.conftest import feed, queued, rules
from tests.governance.test_data_classes import WITH_IBAN
from tests.governance.test_policies import ask, decisions
from tests.rest.conftest import actions, fault, keyed, member
from tests.rest.things import make_run


def decided(cast: Cast, run_id: Any, outcome: str, data_class: str = "") -> None:
    event = PolicyDecided(
        stage="run",
        round=None,
        step=None,
        outcome=outcome,
        versions={"team": 1},
        rules=("team: R",),
        shadow_rules=(),
        refused_workers=(),
        limits={},
        reason="Rule 'R'",
        data_class=data_class,
    )
    record = encode(event)
    draft = EntryDraft(record.action, "run", run_id, ACTOR, record.data, record.bodies)
    with transaction.atomic():
        entries_append(batch=Batch(cast.team.id, (draft,)))


def reasons(cast: Cast) -> list[list[str]]:
    rows = ReviewItem.objects.for_team(cast.team.id).order_by("run_id")
    return [row.reason_values for row in rows]


def test_a_team_without_rules_queues_nothing(cast: Cast) -> None:
    make_run(cast, state="failed")
    assert feed() == 0
    assert reasons(cast) == []


def test_errors_and_cost_are_reasons(cast: Cast) -> None:
    rules(cast.team, failures=True, cost_over_usd="0.5")
    make_run(cast)
    make_run(cast, state="failed")
    make_run(cast, cost_micros=500_000)
    make_run(cast, cost_micros=500_001)
    make_run(cast, state="failed", cost_micros=2_000_000)
    assert feed() == 3
    assert reasons(cast) == [["error"], ["cost"], ["error", "cost"]]


def test_what_the_policy_decided_is_a_reason(cast: Cast) -> None:
    rules(cast.team, policy_hits=True, data_class="confidential")
    for outcome, data_class in (
        ("allowed", ""),
        ("denied", ""),
        ("allowed", "internal"),
        ("allowed", "restricted"),
    ):
        decided(cast, make_run(cast), outcome, data_class)
    make_run(cast)
    assert feed() == 2
    assert reasons(cast) == [["policy"], ["data_class"]]


def test_a_sample_follows_from_the_ids_alone(cast: Cast) -> None:
    rules(cast.team, sample_percent=20)
    ids = [make_run(cast) for _ in range(40)]
    feed()
    found = set(
        ReviewItem.objects.for_team(cast.team.id).values_list("run_id", flat=True)
    )
    assert found == {run_id for run_id in ids if is_sampled(run_id.bytes, 20)}


def test_a_share_of_many_ids_is_sampled() -> None:
    ids = [new_id() for _ in range(5_000)]
    assert 850 < sum(is_sampled(each.bytes, 20) for each in ids) < 1_150
    assert all(is_sampled(each.bytes, 100) for each in ids)
    assert not any(is_sampled(each.bytes, 0) for each in ids)


def test_a_run_is_queued_once_and_recorded(cast: Cast) -> None:
    rules(cast.team, failures=True)
    run_id = make_run(cast, state="failed")
    later = timezone.now() + timedelta(minutes=5)
    assert [feed(), feed(), feed(later), feed(later)] == [1, 0, 0, 0]
    assert actions(cast.team).count("review.queued") == 1
    assert queued(cast, run_id).state == "waiting"


def test_a_run_that_was_in_progress_is_found_when_it_has_ended(cast: Cast) -> None:
    rules(cast.team, failures=True)
    run_id = make_run(cast, state="running")
    later = timezone.now() + timedelta(hours=3)
    assert feed(later) == 0
    assert ReviewPending.objects.for_team(cast.team.id).count() == 1
    Run.objects.for_team(cast.team.id).filter(id=run_id).update(state="failed")
    assert feed(later + timedelta(hours=3)) == 1
    assert ReviewPending.objects.for_team(cast.team.id).count() == 0


def test_a_run_in_progress_when_the_rules_begin_is_found_too(cast: Cast) -> None:
    before = first_id(timezone.now() - timedelta(days=2))
    make_run(cast, id=before, state="running")
    make_run(cast, id=first_id(timezone.now() - timedelta(days=1)), state="failed")
    rules(cast.team, failures=True)
    Run.objects.for_team(cast.team.id).filter(id=before).update(state="failed")
    assert feed() == 1
    assert queued(cast, before)


def test_many_runs_are_looked_at_in_steps(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "RUNS_AT_ONCE", 2)
    rules(cast.team, failures=True)
    for _ in range(7):
        make_run(cast, state="failed")
    assert feed(timezone.now() + timedelta(minutes=5)) == 7


def test_a_look_that_fails_is_made_again(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(cast.team, failures=True)
    make_run(cast, state="failed")
    later = timezone.now() + timedelta(hours=1)

    def crash(*_: Any) -> None:
        raise DatabaseError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(feeding, "_record", crash)
        with pytest.raises(DatabaseError):
            feed(later)
    assert reasons(cast) == []
    assert feed(later) == 1


def test_rules_that_are_switched_off_watch_no_more(cast: Cast) -> None:
    rules(cast.team, failures=True)
    make_run(cast, state="running")
    feed(timezone.now() + timedelta(hours=1))
    rules(cast.team)
    make_run(cast, state="failed")
    assert feed() == 0
    assert ReviewPending.objects.for_team(cast.team.id).count() == 0
    row = ReviewSettings.objects.for_team(cast.team.id).get()
    assert (row.is_watching, row.watched_from, row.version) == (False, None, 2)


def test_a_bad_rating_queues_at_once_if_the_rules_say_so(cast: Cast) -> None:
    run_id = make_run(cast)
    bob = member(cast.bob)
    bob.post(f"runs/{run_id}/feedback/", {"rating": "down"})
    assert reasons(cast) == []
    rules(cast.team, thumbs_down=True)
    bob.post(f"runs/{run_id}/feedback/", {"rating": "up"})
    assert reasons(cast) == []
    bob.post(f"runs/{run_id}/feedback/", {"rating": "down"})
    bob.post(f"runs/{run_id}/feedback/", {"rating": "down"})
    assert reasons(cast) == [["feedback"]]


def test_a_run_is_sent_by_hand_by_whoever_reads_it(cast: Cast) -> None:
    run_id = make_run(cast)
    told = member(cast.vera).post("reviews/", {"run_id": str(run_id)})
    assert told.status_code == 201, told.content
    assert told.json()["reasons"] == ["manual"]
    again = keyed(cast.team, Scope.RUN).post("reviews/", {"run_id": str(run_id)})
    assert again.json()["id"] == told.json()["id"]
    assert reasons(cast) == [["manual"]]
    going = make_run(cast, state="running")
    fault(member(cast.vera).post("reviews/", {"run_id": str(going)}), 409)
    fault(member(cast.mallory).post("reviews/", {"run_id": str(run_id)}), 404)


def test_the_rule_of_the_data_class_needs_no_policy(site: Site) -> None:
    team = site.cast.team
    rules(team, data_class="confidential")
    assert ask(site, "What is 6 times 7?").status_code == 200
    assert decisions(site)[0].data_class == "internal"
    assert ask(site, WITH_IBAN).status_code == 200
    first = decisions(site)[0]
    assert (first.outcome, first.rules, first.versions) == ("allowed", (), {})
    assert (first.data_class, first.findings) == ("confidential", {"iban": 1})
    run = Run.objects.for_team(team.id).latest("id")
    assert feed() == 1
    assert queued(site.cast, run.id).reason_values == ["data_class"]
    found = member(site.cast.alice).get("ledger/?data_class=confidential").json()
    assert {each["subject_id"] for each in found["data"]} == {str(run.id)}


def test_no_prompt_is_classified_once_no_review_depends_on_it(site: Site) -> None:
    rules(site.cast.team, data_class="confidential")
    assert ask(site, WITH_IBAN).status_code == 200
    assert decisions(site)
    rules(site.cast.team, failures=True)
    assert ask(site, WITH_IBAN).status_code == 200
    assert decisions(site) == []
