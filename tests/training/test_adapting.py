"""Light planners learn from each graded request at once, and notice broken promises."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from apps.alerts.evaluation import alerts_evaluate
from apps.alerts.models import Alert
from apps.alerts.types import AlertKind
from apps.alerts.words import alert_detail, alert_title
from apps.governance.services import retention_set
from apps.planners.light.live.stored_counts import counts_to_bytes, with_counts
from apps.planners.light.model import UnreadableModel
from apps.pools.models import BrokenPromise, PlannerCounts, PlannerVersion
from apps.training.adaptation.jobs import erased_runs_forget, planners_adapt
from apps.training.models import ObservedRun
from apps.training.services import promise_dismiss
from tests.conftest import Site, make_pool
from tests.evaluation.samples import entries_of
from tests.factories import ACTOR
from tests.governance.conftest import erase, later
from tests.planners.light.builders import model, run, step
from tests.rest.conftest import member, program
from tests.training.explored import consent, credited
from tests.training.test_changed_models import known_version, promised
from tests.training.test_interfaces import browser

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def learning(site: Site) -> Site:
    """A site whose team lets planners learn, with one to which sim-delta is good."""
    known_version(site.cast.team.pools.get(is_default=True))
    consent(site.cast, trusts_verified_outcomes=True)
    return site


def asked(site: Site, count: int) -> list[uuid.UUID]:
    """Ask so many questions of a kind, and return the runs."""
    headers = {"Authorization": f"Bearer {site.key}"}
    found = []
    for number in range(count):
        question = {"role": "user", "content": f"Compute {number + 11} * 3."}
        answer = httpx.post(
            f"{site.api_url}/chat/completions",
            json={"model": "conductor-ultra", "messages": [question]},
            headers=headers,
            timeout=60,
        )
        found.append(uuid.UUID(answer.headers["x-conductor-run-id"]))
    return found


def verified(site: Site, runs: list[uuid.UUID], score: float) -> None:
    """Let the client verify the answers of some runs, and the site learn of it."""
    for run_id in runs:
        outcome = {"outcome": {"score": score, "source": "verifier"}}
        answer = program(site.key).post(f"runs/{run_id}/feedback/", outcome)
        assert answer.status_code in (200, 201), answer.content
    adapted()


def adapted() -> None:
    credited()
    for _ in planners_adapt():
        pass


def workers_of(site: Site, run_id: uuid.UUID) -> list[str]:
    (why,) = program(site.key).get(f"runs/{run_id}/").json()["explanations"]
    return [step["worker"] for step in why["chosen"]["steps"]]


def counts(site: Site) -> PlannerCounts:
    return PlannerCounts.objects.for_team(site.cast.team.id).get()


def test_a_broken_promise_is_noticed_recorded_and_acted_upon(learning: Site):
    runs = asked(learning, 12)
    assert {tuple(workers_of(learning, run_id)) for run_id in runs} == {("sim-delta",)}
    before = promised(learning, "sim-delta")
    verified(learning, runs, 0.0)
    (broken,) = BrokenPromise.objects.for_team(learning.cast.team.id)
    assert (broken.worker, broken.ability) == ("sim-delta", "answer")
    assert broken.promised > 0.9
    assert broken.observed == 0
    (entry,) = entries_of(learning.cast.team, "pool.promise_broken")
    assert entry["worker"] == "sim-delta"
    assert entry["promised_thousandths"] > 900
    assert entry["observed_thousandths"] == 0
    assert promised(learning, "sim-delta") < before / 2
    (after,) = asked(learning, 1)
    assert workers_of(learning, after) != ["sim-delta"]


def test_each_grade_counts_without_a_training(learning: Site):
    runs = asked(learning, 2)
    before = promised(learning, "sim-delta")
    verified(learning, runs, 0.0)
    assert counts(learning).runs == 2
    once = promised(learning, "sim-delta")
    assert once < before - 0.01
    verified(learning, runs, 1.0)
    assert promised(learning, "sim-delta") > once
    assert not BrokenPromise.objects.for_team(learning.cast.team.id)


def test_nothing_new_makes_nothing_anew(learning: Site):
    verified(learning, asked(learning, 1), 1.0)
    revision = counts(learning).revision
    assert list(planners_adapt()) == []
    assert counts(learning).revision == revision


def test_a_withdrawn_judgement_counts_no_more(learning: Site):
    runs = asked(learning, 3)
    before = promised(learning, "sim-delta")
    verified(learning, runs, 0.0)
    assert promised(learning, "sim-delta") < before
    for run_id in runs:
        answer = program(learning.key).delete(f"runs/{run_id}/feedback/")
        assert answer.status_code == 204, answer.content
    adapted()
    assert counts(learning).runs == 0
    assert promised(learning, "sim-delta") == before


def test_without_consent_requests_teach_nothing(learning: Site):
    consent(learning.cast, given=False)
    runs = asked(learning, 2)
    before = promised(learning, "sim-delta")
    verified(learning, runs, 0.0)
    assert promised(learning, "sim-delta") == before
    assert not ObservedRun.objects.for_team(learning.cast.team.id)


def test_g13_an_erased_run_is_no_longer_learned_from(learning: Site):
    verified(learning, asked(learning, 2), 0.0)
    retention_set(team=learning.cast.team, days=183, actor=ACTOR)
    assert erase(later(184))
    assert list(erased_runs_forget()) == [1]
    adapted()
    assert not ObservedRun.objects.for_team(learning.cast.team.id)
    assert counts(learning).runs == 0


def test_what_is_stored_of_a_run_has_no_text(learning: Site):
    verified(learning, asked(learning, 1), 1.0)
    (row,) = ObservedRun.objects.for_team(learning.cast.team.id)
    (stored,) = row.steps
    assert stored[:4] == ["sim-delta", "solve", [], 1.0]
    assert row.promised is not None
    assert row.promised > 0.9


def test_other_teams_learn_nothing_of_it(learning: Site):
    verified(learning, asked(learning, 1), 1.0)
    assert not ObservedRun.objects.for_team(learning.cast.other_team.id)
    assert not PlannerCounts.objects.for_team(learning.cast.other_team.id)


def test_a_planner_that_cannot_be_read_holds_up_no_other(learning: Site, caplog):
    """It is the first one in order, and another team's planner comes after it."""
    PlannerVersion.objects.for_team(learning.cast.team.id).update(sealed=b"broken")
    other = learning.cast.other_team
    make_pool(other, learning.simulator_url)
    known_version(other.pools.get())
    adapted()
    assert PlannerCounts.objects.for_team(other.id).exists()
    assert not PlannerCounts.objects.for_team(learning.cast.team.id).exists()
    assert "cannot follow what was judged" in caplog.text


# --- what people and programs see -----------------------------------------------------

PROMISES = "learning/promises/"


@pytest.fixture
def broken(learning: Site) -> dict[str, Any]:
    """A promise that broke, as REST shows it."""
    verified(learning, asked(learning, 12), 0.0)
    shown: dict[str, Any] = member(learning.cast.vera).get(PROMISES).json()
    (pool,) = shown["pools"]
    return dict(pool)


def test_rest_compares_promised_with_observed_success(learning: Site, broken):
    assert broken["runs"] == 12
    assert broken["promised"] > 0.9
    assert broken["observed"]["value"] == 0
    assert broken["calibration_error"] == pytest.approx(broken["promised"])
    assert [each["runs"] for each in broken["bins"]] == [12]
    (promise,) = broken["broken"]
    assert promise["worker"] == "sim-delta"
    assert promise["kind_words"] == "Compu"
    assert promise["dismissed_at"] is None


def test_an_owner_dismisses_it_and_what_was_known_counts_again(learning, broken):
    (promise,) = broken["broken"]
    path = f"{PROMISES}{promise['id']}/dismiss/"
    low = promised(learning, "sim-delta")
    assert member(learning.cast.bob).post(path).status_code == 403
    assert member(learning.cast.mallory).post(path).status_code == 404
    assert program(learning.key).post(path).status_code == 403
    answer = member(learning.cast.alice).post(path)
    assert answer.status_code == 200, answer.content
    assert answer.json()["dismissed_by"] == "Alice"
    adapted()
    assert promised(learning, "sim-delta") > low + 0.1
    (entry,) = entries_of(learning.cast.team, "pool.promise_dismissed")
    assert entry["worker"] == "sim-delta"
    again = member(learning.cast.alice).post(path)
    assert again.status_code == 409
    adapted()
    assert len(entries_of(learning.cast.team, "pool.promise_broken")) == 1


def test_the_page_says_what_broke_and_lets_owners_dismiss_it(learning, broken):
    (promise,) = broken["broken"]
    page = browser(learning.cast.alice).get("/learning/").content.decode()
    assert "promise broken" in page
    assert "It promised 9" in page
    address = f"/learning/promises/{promise['id']}/dismiss/"
    assert address in page
    assert address not in browser(learning.cast.vera).get("/learning/").content.decode()
    assert browser(learning.cast.vera).post(address).status_code == 403
    answer = browser(learning.cast.alice).post(address, follow=True)
    assert "counts again" in answer.content.decode()
    assert "Dismissed by" in answer.content.decode()


def test_without_a_grade_the_page_says_that_nobody_can_see(learning: Site):
    page = browser(learning.cast.vera).get("/learning/").content.decode()
    assert "nobody can see whether its promises hold" in page
    consent(learning.cast, given=False)
    page = browser(learning.cast.vera).get("/learning/").content.decode()
    assert "only be seen if planners may learn" in page


def test_a_broken_promise_opens_an_alert_until_it_is_dismissed(learning, broken):
    list(alerts_evaluate())
    team = learning.cast.team
    (alert,) = Alert.objects.for_team(team.id).filter(kind=AlertKind.PROMISE)
    assert alert_title(alert) == "sim-delta is right less often than promised"
    assert alert_detail(alert).startswith("0 % of ")
    row = BrokenPromise.objects.for_team(team.id).get()
    promise_dismiss(promise=row, actor=ACTOR)
    list(alerts_evaluate())
    alert.refresh_from_db()
    assert alert.closed_at is not None


# --- stored counts --------------------------------------------------------------------


def test_counts_are_read_back_as_they_were_written():
    fitted = model(run(step("ada", grade=1)))
    later = model(*[run(step("ada", grade=0))] * 9)
    found = with_counts(fitted, counts_to_bytes(later))
    assert (found.profiles.seen == later.profiles.seen).all()
    assert (found.counts.solve == later.counts.solve).all()
    assert found.kinds is fitted.kinds


@pytest.mark.parametrize("stored", [b"", b"PK", b"{}"])
def test_unreadable_counts_say_so(stored):
    with pytest.raises(UnreadableModel):
        with_counts(model(), stored)


def test_counts_of_another_planner_are_refused():
    with pytest.raises(UnreadableModel, match="another light planner"):
        with_counts(model(), counts_to_bytes(model(names=("ada", "ben", "cat", "dan"))))
