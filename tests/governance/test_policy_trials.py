"""Trials of drafts on recorded runs: in the background, cancelled, lost, kept."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import Any

import orjson
import pytest
from django.utils import timezone

from apps.audit import jobs
from apps.audit.jobs import DEAD_AFTER, JobThread
from apps.audit.models import Content, Entry
from apps.engine import events as ev
from apps.governance.models import AffectedRun, PolicyTrial
from apps.governance.selectors import policy_newest
from apps.governance.services import MAX_TRIALS
from apps.governance.trials import jobs as trial_jobs
from apps.governance.trials.jobs import policy_trial_take, policy_trials_end_lost
from apps.runs import selectors
from apps.runs.records.history import read_entries
from tests.conftest import Cast, Site, make_pool
from tests.governance.test_policies import (
    DENY_FALCON,
    PROMPT,
    ask,
    change,
    last_events,
    only,
    tag,
)
from tests.governance.trials import (
    FALCON,
    KESTREL,
    TRIALS,
    affected,
    read,
    refused,
    run_recorded,
    runs_recorded,
    started,
    taken,
    tried,
    work,
)
from tests.patience import eventually
from tests.rest.conftest import Caller, fault, member
from tests.rest.things import BASE_URL

DENY_KESTREL = {
    "name": "No kestrel",
    "conditions": {"words": ["kestrel"]},
    "effect": {"kind": "deny"},
}
HOLD = {"name": "Four eyes", "effect": {"kind": "require_approval"}}


@pytest.fixture(autouse=True)
def _no_process_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave trials to the test, but where a process of the site is what it is about."""
    monkeypatch.setattr(jobs, "LOOK_S", 3600.0)


@pytest.fixture
def alice(cast: Cast) -> Caller:
    make_pool(cast.team, BASE_URL)
    return member(cast.alice)


@pytest.fixture
def two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "RUNS_AT_ONCE", 2)


# --- what would have happened ---------------------------------------------------------


def test_rules_are_tried_on_recorded_runs_and_change_nothing(site: Site) -> None:
    alice = member(site.cast.alice)
    assert ask(site).status_code == 200
    assert ask(site, KESTREL).status_code == 200
    before = Entry.objects.for_team(site.cast.team.id).count()
    found = tried(alice, {**DENY_FALCON, "mode": "shadow"})
    assert found["progress"] == {"tried": 2, "total": 2}
    assert found["summary"] == (
        "Would have stopped 1 of 2 runs, changed 0 and held 0 for approval."
    )
    (run,) = found["runs"]
    assert (run["title"], run["outcome"]) == (PROMPT, "denied")
    says = "Rule 'No Falcon' says: deny it"
    assert run["reasons"] == [{"rule": "No Falcon", "reason": says}]
    assert tried(alice, {**DENY_FALCON, "mode": "off"})["runs"] == []
    assert tried(alice, DENY_FALCON, runs=1)["progress"]["tried"] == 1
    assert Entry.objects.for_team(site.cast.team.id).count() == before
    assert policy_newest(site.cast.team.id) is None


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (only("moon"), "denied"),
        (HOLD, "held"),
        ({"name": "R", "effect": {"kind": "no_conductor"}}, "changed"),
        ({"name": "R", "effect": {"kind": "limit", "max_tokens": 1}}, "changed"),
        ({"name": "R", "effect": {"kind": "limit", "max_tokens": 10**8}}, None),
        (
            {
                "name": "R",
                "conditions": {"roles": ["owner"]},
                "effect": {"kind": "deny"},
            },
            None,
        ),
        (
            {
                "name": "R",
                "conditions": {"cost_over_usd": "0.000001"},
                "effect": {"kind": "deny"},
            },
            "denied",
        ),
    ],
)
def test_a_trial_tells_what_would_have_changed(
    site: Site, rule: dict[str, Any], outcome: str | None
) -> None:
    assert ask(site).status_code == 200
    runs = tried(member(site.cast.alice), rule)["runs"]
    assert [run["outcome"] for run in runs] == ([outcome] if outcome else [])


def test_a_run_whose_worker_is_refused_would_have_changed(site: Site) -> None:
    assert ask(site, model="worker/sim-delta").status_code == 200
    assert ask(site).status_code == 200
    used = {e.worker for e in last_events(site) if isinstance(e, ev.StepStarted)}
    tag(site, used.pop(), "us")
    rule = {"name": "R", "effect": {"kind": "no_workers", "tags": ["us"]}}
    runs = tried(member(site.cast.alice), rule)["runs"]
    assert runs[0]["outcome"] == "changed"


def test_a_run_whose_model_is_gone_cannot_be_tried(site: Site) -> None:
    assert ask(site, model="worker/sim-delta").status_code == 200
    change(site, "sim-delta", is_enabled=False)
    found = tried(member(site.cast.alice), DENY_FALCON)
    assert found["unknown"] == 1
    assert found["summary"].endswith("; 1 could not be tried.")


def test_a_run_whose_prompt_is_erased_cannot_be_tried(
    alice: Caller, cast: Cast
) -> None:
    runs_recorded(cast, FALCON)
    Content.objects.for_team(cast.team.id).delete()
    (run,) = tried(alice, DENY_FALCON)["runs"]
    assert run["reasons"] == [{"rule": "", "reason": "its prompt is erased"}]


def test_reasons_are_counted_by_rule(alice: Caller, cast: Cast) -> None:
    runs_recorded(cast, FALCON, KESTREL, f"{FALCON} {KESTREL}")
    found = tried(alice, DENY_FALCON, DENY_KESTREL)
    assert found["denied"] == 3
    assert found["by_rule"] == [
        {"rule": "No Falcon", "denied": 2, "held": 0, "changed": 0},
        {"rule": "No kestrel", "denied": 2, "held": 0, "changed": 0},
    ]
    newest = found["runs"][0]
    assert [each["rule"] for each in newest["reasons"]] == ["No Falcon", "No kestrel"]


def test_runs_found_come_in_pages_newest_first_and_by_outcome(
    alice: Caller, cast: Cast, two_at_once: None
) -> None:
    make = [FALCON, KESTREL, FALCON, FALCON]
    first, _, third, fourth = map(str, runs_recorded(cast, *make))
    trial = tried(alice, DENY_FALCON)
    address = f"{TRIALS}{trial['id']}/runs/"
    page = alice.get(f"{address}?limit=2&outcome=denied").json()
    assert [run["run_id"] for run in page["data"]] == [fourth, third]
    more = alice.get(f"{address}?limit=2&cursor={page['next_cursor']}").json()
    assert [run["run_id"] for run in more["data"]] == [first]
    assert more["next_cursor"] is None
    assert alice.get(f"{address}?outcome=held").json()["data"] == []
    fault(alice.get(f"{address}?outcome=x"), 400)


# --- the job --------------------------------------------------------------------------


def test_start_says_where_progress_is(alice: Caller, cast: Cast) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    answer = alice.post(TRIALS, {"rules": [DENY_FALCON]})
    assert answer.status_code == 202
    found = answer.json()
    assert answer["Location"].endswith(f"/api/v1/policy/trials/{found['id']}/")
    assert found["state"] == "waiting"
    assert found["progress"] == {"tried": 0, "total": 5}
    assert found["started_by"] == "Alice"


def test_progress_is_counted_run_by_run(
    alice: Caller, cast: Cast, two_at_once: None
) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    trial = started(alice, DENY_FALCON)
    steps = taken()
    next(steps)
    found = read(alice, trial)
    assert (found["state"], found["denied"]) == ("running", 2)
    assert found["progress"] == {"tried": 2, "total": 5}
    assert len(affected(alice, trial)) == 2
    list(steps)
    found = read(alice, trial)
    assert (found["state"], found["denied"]) == ("completed", 5)
    assert found["finished_at"] is not None


def test_the_result_is_kept_with_the_draft_and_its_digest(
    alice: Caller, cast: Cast
) -> None:
    runs_recorded(cast, FALCON)
    found = tried(alice, DENY_FALCON)
    assert found["rules"] == [DENY_FALCON]
    draft = orjson.dumps({"rules": [DENY_FALCON]}, option=orjson.OPT_SORT_KEYS)
    assert found["sha256"] == sha256(draft).hexdigest()
    other = tried(alice, {**DENY_FALCON, "name": "Other"})
    listed = alice.get(TRIALS).json()["data"]
    assert [each["id"] for each in listed] == [other["id"], found["id"]]
    assert other["sha256"] != found["sha256"]


def test_the_newest_trials_are_kept(alice: Caller) -> None:
    first, *others = (tried(alice, DENY_FALCON)["id"] for _ in range(MAX_TRIALS + 1))
    listed = alice.get(TRIALS).json()["data"]
    assert [each["id"] for each in listed] == others[::-1]
    fault(alice.get(f"{TRIALS}{first}/"), 404)


def test_a_wrong_draft_is_not_tried(alice: Caller, cast: Cast) -> None:
    error = refused(alice, 400, {"rules": [{"name": "X"}]})
    assert error["param"] == "rules[0].effect"
    refused(alice, 400, {"rules": [], "runs": 5_001})
    refused(alice, 400, {"rules": [], "runs": 0})
    refused(member(cast.bob), 403, {"rules": []})
    assert not PolicyTrial.objects.for_team(cast.team.id).exists()


def test_one_trial_of_a_team_is_in_progress(alice: Caller, cast: Cast) -> None:
    runs_recorded(cast, FALCON)
    started(alice, DENY_FALCON)
    error = refused(alice, 409, {"rules": []})
    assert error["message"] == (
        "a trial that Alice started is in progress, at 0 of 1 runs; cancel it first, "
        "or wait"
    )
    mallory = member(cast.mallory)
    assert mallory.post(TRIALS, {"rules": []}).status_code == 202
    assert len(mallory.get(TRIALS).json()["data"]) == 1


def test_a_cancelled_trial_keeps_what_it_found_and_does_no_more(
    alice: Caller, cast: Cast, two_at_once: None
) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    trial = started(alice, DENY_FALCON)
    steps = taken()
    next(steps)
    cancelled = alice.post(f"{TRIALS}{trial['id']}/cancel/").json()
    assert cancelled["state"] == "cancelled"
    assert list(steps) == []
    found = read(alice, trial)
    assert (found["state"], found["denied"]) == ("cancelled", 2)
    assert len(affected(alice, trial)) == 2
    assert tried(alice, DENY_FALCON)["denied"] == 5


def test_a_trial_that_waits_is_cancelled(alice: Caller, cast: Cast) -> None:
    trial = started(alice, DENY_FALCON)
    alice.post(f"{TRIALS}{trial['id']}/cancel/")
    assert policy_trial_take() is None


def test_cancelling_changes_nothing_of_what_has_ended(
    alice: Caller, cast: Cast
) -> None:
    trial = tried(alice, DENY_FALCON)
    assert alice.post(f"{TRIALS}{trial['id']}/cancel/").json()["state"] == "completed"


def test_a_trial_is_deleted_in_the_middle(
    alice: Caller, cast: Cast, two_at_once: None
) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    trial = started(alice, DENY_FALCON)
    steps = taken()
    next(steps)
    assert alice.delete(f"{TRIALS}{trial['id']}/").status_code == 204
    assert list(steps) == []
    fault(alice.get(f"{TRIALS}{trial['id']}/"), 404)
    assert not AffectedRun.objects.for_team(cast.team.id).exists()


def test_a_process_that_ends_gives_its_trial_to_another_where_it_was(
    alice: Caller, cast: Cast, two_at_once: None
) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    trial = started(alice, DENY_FALCON)
    steps = taken()
    next(steps)
    steps.close()
    assert read(alice, trial)["state"] == "waiting"
    run_recorded(cast, FALCON)  # it is newer than the trial
    work()
    found = read(alice, trial)
    assert (found["state"], found["denied"]) == ("completed", 5)
    ids = [run["run_id"] for run in affected(alice, trial)]
    assert len(ids) == len(set(ids)) == 5


def test_a_trial_of_a_dead_process_has_failed_and_is_started_again(
    alice: Caller, cast: Cast, two_at_once: None
) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    trial = started(alice, DENY_FALCON)
    dead = taken()
    next(dead)
    PolicyTrial.objects.for_team(cast.team.id).update(
        beat_at=timezone.now() - DEAD_AFTER - timedelta(seconds=1)
    )
    found = read(alice, trial)
    assert (found["state"], found["progress"]["tried"]) == ("failed", 2)
    assert found["error"] == "the process that worked on it has ended"
    assert policy_trial_take() is None, "what may stop processes is not begun again"
    assert tried(alice, DENY_FALCON)["denied"] == 5
    # It was slow, not dead: what it writes now counts no more.
    list(dead)
    assert read(alice, trial)["denied"] == 2


def test_processes_end_the_trials_of_the_dead(
    alice: Caller, cast: Cast, two_at_once: None
) -> None:
    runs_recorded(cast, *[FALCON] * 5)
    started(alice, DENY_FALCON)
    steps = taken()
    next(steps)
    assert policy_trials_end_lost() == 0
    lost = timezone.now() - 2 * DEAD_AFTER
    PolicyTrial.objects.for_team(cast.team.id).update(beat_at=lost)
    assert policy_trials_end_lost() == 1
    row = PolicyTrial.objects.for_team(cast.team.id).get()
    assert (row.state, row.outcome, row.claim_id) == ("done", "failed", None)


def test_a_trial_that_breaks_off_lets_others_have_their_turn(
    alice: Caller, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_recorded(cast, FALCON)
    trial = started(alice, DENY_FALCON)

    def broken(*args: Any, **values: Any) -> Any:
        raise RuntimeError("for a test")

    with monkeypatch.context() as patch:
        patch.setattr(trial_jobs, "runs_tried", broken)
        work()
    found = read(alice, trial)
    assert found["state"] == "failed"
    assert found["error"] == "it broke off with an error, which the site's log has"
    assert tried(alice, DENY_FALCON)["denied"] == 1


def test_memory_is_bounded_by_a_few_runs_at_a_time(
    alice: Caller,
    cast: Cast,
    two_at_once: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs_recorded(cast, *[FALCON] * 7)
    sizes: list[int] = []

    def noted(runs: Any) -> Any:
        sizes.append(len(runs))
        return read_entries(runs)

    monkeypatch.setattr(selectors, "read_entries", noted)
    tried(alice, DENY_FALCON, runs=5)
    assert sizes == [2, 2, 1]


def test_a_process_of_the_site_does_it(
    alice: Caller, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "LOOK_S", 0.01)
    runs_recorded(cast, FALCON)
    thread = JobThread(
        "policy-trials", policy_trial_take, policy_trials_end_lost
    ).start()
    try:
        trial = started(alice, DENY_FALCON)
        assert eventually(lambda: read(alice, trial)["state"] == "completed")
    finally:
        thread.close()


# --- other teams ----------------------------------------------------------------------


def test_another_team_sees_and_changes_no_trial(alice: Caller, cast: Cast) -> None:
    runs_recorded(cast, FALCON)
    trial = tried(alice, DENY_FALCON)
    mallory = member(cast.mallory)
    address = f"{TRIALS}{trial['id']}/"
    fault(mallory.get(address), 404)
    fault(mallory.get(f"{address}runs/"), 404)
    fault(mallory.post(f"{address}cancel/"), 404)
    fault(mallory.delete(address), 404)
    assert mallory.get(TRIALS).json()["data"] == []
    assert read(alice, trial)["denied"] == 1
