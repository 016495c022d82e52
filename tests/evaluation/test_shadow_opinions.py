"""What people think of both runs of a pair stands in the report of a shadow test."""

from __future__ import annotations

import httpx
from django.utils import timezone

from apps.accounts.models import Scope
from apps.evaluation.opinions import NO_OPINIONS, opinions_of
from apps.evaluation.shadow.report import shadow_report
from apps.evaluation.shadow.selectors import mirrored_of
from apps.governance.models import ReviewItem, ReviewState
from apps.governance.services import feedback_give, feedback_withdraw
from apps.runs.models import Run
from tests.console.test_evaluations import signed_in
from tests.evaluation.test_shadow import ask, ended, start
from tests.factories import ACTOR, issue_key


def reviewed(run: Run, verdict: str) -> None:
    ReviewItem.objects.create(
        team=run.team,
        run=run,
        reasons=",manual,",
        state=ReviewState.REVIEWED if verdict else ReviewState.WAITING,
        verdict=verdict,
        queued_at=timezone.now(),
    )


def test_ratings_and_verdicts_of_both_runs_are_counted_and_linked(site):
    test = start(site, max_runs=1)
    ask(site)
    test = ended(test)
    (pair,) = mirrored_of(test)
    runs = Run.objects.for_team(site.cast.team.id)
    original, candidate = runs.get(id=pair.original_run_id), runs.get(id=pair.run_id)
    feedback_give(run=original, rating="down", actor=ACTOR)
    feedback_give(run=candidate, rating="up", actor=ACTOR)
    reviewed(original, "")
    reviewed(candidate, "pass")
    report = shadow_report(test)
    before, after = report.original.opinions, report.candidate.opinions
    assert (before.up, before.down, before.reviewed) == (0, 1, 0)
    assert (after.up, after.down, after.reviewed) == (1, 0, 1)
    assert after.verdicts == {"pass": 1, "needs_change": 0, "fail": 0}
    page = signed_in(site.cast.alice).get(f"/evaluations/shadow/{test.id}/")
    text = page.content.decode()
    assert f"/runs/{original.id}/" in text
    assert f"/runs/{candidate.id}/" in text
    assert "1 good, review: Pass" in " ".join(text.split())
    feedback_withdraw(run=candidate, actor=ACTOR)
    assert shadow_report(test).candidate.opinions.up == 0


def test_programs_read_the_opinions_of_each_pair(site):
    test = start(site, max_runs=1)
    ask(site)
    (pair,) = mirrored_of(ended(test))
    runs = Run.objects.for_team(site.cast.team.id)
    feedback_give(run=runs.get(id=pair.run_id), rating="up", actor=ACTOR)
    key = issue_key(site.cast.team, scopes=(Scope.READ,))
    answer = httpx.get(
        f"{site.url}/api/v1/shadow-tests/{test.id}/runs/",
        headers={"Authorization": f"Bearer {key.secret}"},
    )
    (shown,) = answer.json()["data"]
    assert shown["opinions"] == {"up": 1, "down": 0, "verdict": ""}
    assert shown["original_opinions"] == {"up": 0, "down": 0, "verdict": ""}


def test_other_teams_opinions_are_not_read(site):
    test = start(site, max_runs=1)
    ask(site)
    (pair,) = mirrored_of(ended(test))
    run = Run.objects.for_team(site.cast.team.id).get(id=pair.run_id)
    feedback_give(run=run, rating="up", actor=ACTOR)
    other = opinions_of(site.cast.other_team.id, [run.id])
    assert other.get(run.id, NO_OPINIONS) == NO_OPINIONS
