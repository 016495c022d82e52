"""What people think of real answers is credited to the workers that gave them."""

from __future__ import annotations

import pytest
from django.urls import reverse

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.evaluation.models import OutcomeProgress, RunOutcome
from apps.evaluation.production.counting import outcomes_count
from apps.governance.models import ReviewItem
from apps.governance.reviews.reads import access_review, review_rules
from apps.governance.services import (
    feedback_give,
    feedback_withdraw,
    review_judge,
    review_request,
    review_requeue,
    review_reserve,
)
from apps.pools.models import Conductor, WorkerOutcome
from apps.pools.services import worker_update
from apps.pools.worker_figures.outcomes import outcome_card, outcomes_of
from apps.runs.models import Run, Source
from apps.runs.selectors import run_view
from tests.conftest import Site
from tests.evaluation.test_calibration import described, signed_in
from tests.evaluation.test_shadow import ask, ended, start
from tests.factories import ACTOR, MembershipFactory
from tests.patience import eventually

Figures = dict[str, tuple[int, int]]


def newest(site: Site, source: str = Source.API) -> Run:
    return Run.objects.for_team(site.cast.team.id).filter(source=source).latest("id")


def asked(site: Site, model: str = "worker/sim-birch") -> Run:
    ask(site, model=model)
    return newest(site)


def counted(site: Site, worker: str = "sim-birch") -> Figures:
    """Return right and total of a worker by source, once all entries are read."""
    for _ in outcomes_count():
        pass
    row = site.cast.team.workers.get(name=worker)
    found = outcomes_of(site.cast.team.id, [row.id]).get(row.id, [])
    return {each.source: (each.right, each.total) for each in found}


def judged(site: Site, run: Run, verdict: str) -> ReviewItem:
    """Review a run as a reviewer of the team."""
    member = MembershipFactory.create(team=site.cast.team, role=Role.REVIEWER)
    reviewer = member_principal(member.user, site.cast.team, Role.REVIEWER, {})
    item = review_request(run=run, principal=reviewer)
    review_reserve(item=item, principal=reviewer)
    scores = {each.name: 3 for each in review_rules(run.team_id).rubric}
    review_judge(
        item=item, principal=reviewer, verdict=verdict, scores=scores, reason="Read."
    )
    return access_review(run.team_id, item.id)


def rate(site: Site, run: Run, *ratings: str) -> None:
    """Rate a run, each time as somebody else."""
    for rating in ratings:
        member = MembershipFactory.create(team=site.cast.team, role=Role.MEMBER)
        person = member_principal(member.user, site.cast.team, Role.MEMBER, {})
        feedback_give(run=run, rating=rating, actor=person.actor)


def test_ratings_of_a_direct_call_are_credited_and_withdrawn(site):
    run = asked(site)
    feedback_give(run=run, rating="up", actor=ACTOR)
    assert counted(site) == {"feedback": (1, 1)}
    feedback_give(run=run, rating="down", actor=ACTOR)
    assert counted(site) == {"feedback": (0, 1)}
    rate(site, run, "up", "up")
    assert counted(site) == {"feedback": (2, 3)}
    feedback_withdraw(run=run, actor=ACTOR)
    assert counted(site) == {"feedback": (2, 2)}


def test_verified_outcomes_are_credited_apart_and_by_family(site):
    ask(site, model="worker/sim-birch", conductor={"family": "invoices"})
    run = newest(site)
    feedback_give(run=run, outcome={"score": 0.5, "source": "verifier"}, actor=ACTOR)
    assert counted(site) == {"verifier": (1, 1)}
    feedback_give(run=run, rating="down", actor=ACTOR)
    assert counted(site) == {"verifier": (1, 1), "feedback": (0, 1)}
    outcomes = WorkerOutcome.objects.for_team(site.cast.team.id)
    assert set(outcomes.values_list("family", flat=True)) == {"invoices"}
    feedback_give(run=run, outcome={"score": 0.4, "source": "verifier"}, actor=ACTOR)
    assert counted(site)["verifier"] == (0, 1)
    feedback_withdraw(run=run, actor=ACTOR)
    assert counted(site) == {}


def test_the_worker_of_the_last_step_is_credited(site):
    run = asked(site, "conductor-ultra")
    answered = run_view(run).answering_worker
    steps = set(run.steps.values_list("worker", flat=True))
    assert len(steps) > 1
    feedback_give(run=run, rating="up", actor=ACTOR)
    credited = {name for name in steps if counted(site, name)}
    assert credited == {answered}


def test_verdicts_are_credited_and_taken_back_when_queued_again(site):
    passed, failed = asked(site), asked(site)
    judged(site, passed, "pass")
    item = judged(site, failed, "needs_change")
    assert counted(site) == {"review": (1, 2)}
    owner = member_principal(site.cast.alice, site.cast.team, Role.OWNER, {})
    review_requeue(item=item, principal=owner, reason="Look again.")
    assert counted(site) == {"review": (1, 1)}


def test_runs_of_tests_are_not_production(site):
    test = start(site, max_runs=1)
    ask(site)
    ended(test)
    feedback_give(run=newest(site, Source.SHADOW), rating="up", actor=ACTOR)
    assert counted(site) == {}


def test_another_model_begins_anew_and_the_former_one_is_remembered(site):
    run = asked(site)
    feedback_give(run=run, rating="up", actor=ACTOR)
    assert counted(site) == {"feedback": (1, 1)}
    worker = site.cast.team.workers.get(name="sim-birch")
    worker_update(worker=worker, values={"model": "sim-delta"}, actor=ACTOR)
    assert counted(site) == {}
    rate(site, run, "up")  # of an answer by the former model
    assert counted(site) == {}
    worker_update(worker=worker, values={"model": "sim-birch"}, actor=ACTOR)
    assert counted(site) == {"feedback": (2, 2)}


def test_a_deleted_workers_outcomes_go_with_it(site):
    run = asked(site)
    feedback_give(run=run, rating="up", actor=ACTOR)
    assert counted(site)
    worker = site.cast.team.workers.get(name="sim-birch")
    site.cast.team.pools.get(is_default=True).places.filter(worker=worker).delete()
    worker.delete()
    assert not WorkerOutcome.objects.for_team(site.cast.team.id).exists()
    assert not RunOutcome.objects.for_team(site.cast.team.id).exists()
    rate(site, run, "up")
    assert sum(outcomes_count()) >= 0
    assert not WorkerOutcome.objects.for_team(site.cast.team.id).exists()


def test_a_look_reads_each_entry_once(site):
    feedback_give(run=asked(site), rating="up", actor=ACTOR)
    counted(site)
    progress = OutcomeProgress.objects.for_team(site.cast.team.id).get()
    assert progress.seq > 0
    assert sum(outcomes_count()) == 0


def test_the_site_counts_by_itself(site):
    feedback_give(run=asked(site), rating="up", actor=ACTOR)
    rows = WorkerOutcome.objects.for_team(site.cast.team.id)
    assert eventually(rows.exists)


def test_pages_show_them_apart(site):
    run = asked(site)
    rate(site, run, "up", "up", "down")
    counted(site)
    browser = signed_in(site.cast.vera)
    worker = site.cast.team.workers.get(name="sim-birch")
    page = browser.get(reverse("console:worker", args=[worker.id])).content.decode()
    assert "From production" in page
    assert "2 of 3" in page
    pool = site.cast.team.pools.get(is_default=True)
    page = browser.get(reverse("console:pool", args=[pool.id])).content.decode()
    assert "From production: rated good" in page
    assert "2 of 3" in page


def test_a_conductor_reads_them_as_a_clause_of_its_own(site):
    team = site.cast.team
    run = asked(site)
    rate(site, run, "up", "up", "up", "down")
    counted(site)
    Conductor.objects.for_team(team.id).update(shows_measurements=True)
    assert described(team.id)["sim-birch"] == ""  # too few
    rate(site, run, "up")
    counted(site)
    assert described(team.id)["sim-birch"] == "In production: 4/5 rated good."
    Conductor.objects.for_team(team.id).update(shows_measurements=False)
    assert described(team.id)["sim-birch"] == ""


@pytest.mark.parametrize(
    ("figures", "card"),
    [
        ([("feedback", 4, 4)], ""),
        ([("feedback", 4, 5)], "In production: 4/5 rated good."),
        (
            [("review", 5, 6), ("feedback", 9, 10), ("feedback", 9, 10)],
            "In production: 18/20 rated good, 5/6 passed in review.",
        ),
    ],
)
def test_the_clause_sums_each_source(figures, card):
    rows = [WorkerOutcome(source=s, right=r, total=t) for s, r, t in figures]
    assert outcome_card(rows) == card
