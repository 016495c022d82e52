"""Trials on pages: started from the form of a rule, followed, cancelled, repeated."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.audit.jobs import DEAD_AFTER
from apps.audit.models import Entry
from apps.console import trial_rows
from apps.governance.models import PolicyTrial
from apps.governance.selectors import policy_newest
from apps.runs import selectors
from apps.runs.models import Run
from tests.conftest import Cast, make_pool
from tests.console.models import words
from tests.console.test_policy_pages import NEW, page
from tests.governance.trials import FALCON, KESTREL, runs_recorded, taken, work
from tests.rest.things import BASE_URL

RULE: dict[str, Any] = {
    "name": "No Falcon",
    "mode": "shadow",
    "words": "project falcon",
    "effect": "deny",
    "version": "0",
    "try": "",
}


@pytest.fixture(autouse=True)
def _pool(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    make_pool(cast.team, BASE_URL)
    monkeypatch.setattr(selectors, "RUNS_AT_ONCE", 2)


def trial_of(cast: Cast) -> PolicyTrial:
    found = PolicyTrial.objects.for_team(cast.team.id).first()
    assert found is not None
    return found


def start(client: Client, **values: Any) -> str:
    answer = client.post(NEW, {**RULE, **values})
    assert answer.status_code == 200
    return words(answer.content.decode())


def address(trial: PolicyTrial, action: str = "") -> str:
    return f"/policy/trials/{trial.id}/{action}"


def test_the_form_of_a_rule_starts_a_trial_and_keeps_its_values(
    alice: Client, cast: Cast
) -> None:
    runs_recorded(cast, FALCON, KESTREL)
    entries = Entry.objects.for_team(cast.team.id).count()
    shown = alice.post(NEW, RULE).content.decode()
    assert "Waiting for a process to begin…" in shown
    assert 'value="No Falcon"' in shown
    trial = trial_of(cast)
    assert f'data-job="{address(trial)}?page=1&amp;form="' in shown
    part = alice.get(f"{address(trial)}?form=").content.decode()
    assert 'form="rule-form" name="cancel"' in part, "the page takes it from there"
    work()
    shown = page(alice, address(trial))
    assert "Would have stopped 1 of 2 runs, changed 0 and held 0 for approval." in shown
    assert FALCON in shown
    assert "says: deny it." in shown
    assert policy_newest(cast.team.id) is None
    assert Entry.objects.for_team(cast.team.id).count() == entries


def test_links_lead_to_the_runs(alice: Client, cast: Cast) -> None:
    (run_id,) = runs_recorded(cast, FALCON)
    start(alice)
    work()
    shown = alice.get(address(trial_of(cast))).content.decode()
    assert f'href="/runs/{run_id}/"' in shown


def test_progress_is_shown_with_counts(alice: Client, cast: Cast) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    start(alice)
    steps = taken()
    next(steps)
    shown = alice.get(address(trial_of(cast))).content.decode()
    assert 'data-state="busy"' in shown
    assert 'value="40">40 %</progress>' in shown
    assert "Would have stopped 2 of 2 runs" in shown
    list(steps)
    assert 'data-state="idle"' in alice.get(address(trial_of(cast))).content.decode()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"effect": ""}, "Choose what the rule does."),
        ({"runs": "5001"}, "less than or equal to 5000"),
        ({"runs": "x"}, "Enter a whole number."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_tried(
    alice: Client, cast: Cast, values: dict[str, str], message: str
) -> None:
    assert message in start(alice, **values)
    assert not PolicyTrial.objects.for_team(cast.team.id).exists()


def test_a_second_start_says_who_is_first(alice: Client, ada: Client, cast: Cast):
    start(alice)
    assert "A trial that Alice started is in progress, at 0 of 0 runs" in start(ada)
    assert PolicyTrial.objects.for_team(cast.team.id).count() == 1


def test_a_trial_is_cancelled_below_the_form_whose_values_stay(
    alice: Client, cast: Cast
) -> None:
    start(alice, runs="7")
    cancel = {**RULE, "runs": "7", "cancel": str(trial_of(cast).id)}
    del cancel["try"]
    shown = alice.post(NEW, cancel).content.decode()
    assert ">Cancelled<" in shown
    assert 'value="No Falcon"' in shown
    assert 'value="7"' in shown
    assert policy_newest(cast.team.id) is None
    for other in ("x", str(cast.team.id)):
        assert alice.post(NEW, {**cancel, "cancel": other}).status_code == 404


def test_a_trial_is_cancelled_repeated_and_deleted_on_its_page(
    alice: Client, cast: Cast
) -> None:
    start(alice, runs="7")
    trial = trial_of(cast)
    alice.post(address(trial, "cancel/"))
    assert "The trial is cancelled." in page(alice, address(trial))
    alice.post(address(trial, "cancel/"))
    assert "The trial has ended already" in page(alice, address(trial))
    runs_recorded(cast, FALCON)
    answer = alice.post(address(trial, "again/"))
    again = trial_of(cast)
    assert answer["Location"] == address(again)
    assert (again.document, again.asked, again.total) == (trial.document, 7, 1)
    assert alice.post(address(trial, "again/"))["Location"] == address(trial)
    alice.post(address(again, "delete/"))
    assert trial_of(cast) == trial


def test_a_trial_whose_process_died_says_so_and_can_be_repeated(
    alice: Client, cast: Cast
) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    start(alice)
    steps = taken()
    next(steps)
    lost = timezone.now() - 2 * DEAD_AFTER
    PolicyTrial.objects.for_team(cast.team.id).update(beat_at=lost)
    shown = page(alice, address(trial_of(cast)))
    assert "The process that worked on it has ended." in shown
    assert "2 of 5 runs were tried." in shown
    alice.post(address(trial_of(cast), "again/"))
    work()
    assert "Would have stopped 5 of 5 runs" in page(alice, address(trial_of(cast)))


def test_runs_are_shown_in_pages_and_by_outcome(
    alice: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rows, "RUNS_SHOWN", 2)
    ids = runs_recorded(cast, *[FALCON] * 3)
    Run.objects.for_team(cast.team.id).filter(id=ids[0]).update(model="worker/gone")
    start(alice)
    work()
    one = alice.get(address(trial_of(cast))).content.decode()
    assert f'href="{address(trial_of(cast))}?page=2"' in one
    assert f"/runs/{ids[0]}/" not in one
    two = alice.get(f"{address(trial_of(cast))}?page=2").content.decode()
    assert f"/runs/{ids[0]}/" in two
    unknown = alice.get(f"{address(trial_of(cast))}?outcome=unknown").content.decode()
    assert f"/runs/{ids[0]}/" in unknown
    assert f"/runs/{ids[1]}/" not in unknown
    assert "Its model is not there any more." in unknown


def test_the_list_of_trials_says_what_each_has_found(alice: Client, cast: Cast) -> None:
    assert "There are no trials yet." in page(alice, "/policy/trials/")
    runs_recorded(cast, FALCON)
    start(alice)
    work()
    shown = page(alice, "/policy/trials/")
    assert "Would have stopped 1 of 1 run, changed 0 and held 0 for approval." in shown
    assert "Started by Alice" in shown


def test_members_and_other_teams_see_no_trial(
    alice: Client, bob: Client, mallory: Client, cast: Cast
) -> None:
    start(alice)
    assert bob.get(address(trial_of(cast))).status_code == 403
    assert bob.get("/policy/trials/").status_code == 403
    assert mallory.get(address(trial_of(cast))).status_code == 404
    assert mallory.post(address(trial_of(cast), "cancel/")).status_code == 404
    assert trial_of(cast).outcome == ""
