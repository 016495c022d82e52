"""A model that refuses the beginning of an answer: rescued once, and remembered."""

from __future__ import annotations

import pytest

from apps.audit.selectors import entry_list
from apps.engine import events as ev
from apps.engine.errors import CallFault
from apps.engine.usage import Usage
from apps.pools.models import Worker
from apps.runs.execution.prefill_refusals import PrefillWatch
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.patience import eventually
from tests.runs.asking import Stage, planned
from tests.runs.clients import Said, ask_all, request

MESSAGE = "refused for a test"


def faults_of(said: Said) -> list[str]:
    run = Run.objects.across_teams().get(id=said.run_id)
    failed = (ev.StepAttemptFailed, ev.PlanCallFailed)
    events = (recorded.event for recorded in run_events(run))
    return [event.fault for event in events if isinstance(event, failed)]


def entries_of(site: Site, action: str) -> list[tuple[str, object]]:
    entries = entry_list(site.cast.team.id, limit=5000)
    return [
        (entry.actor.type, entry.data) for entry in entries if entry.action == action
    ]


@pytest.fixture
def refusing(stage: Stage) -> Site:
    """The site whose first worker breaks off, and whose fallback takes no prefill."""
    site = stage.site
    for name in ("cut-3", "no-prefill"):
        site.add_worker(name)
    pool = site.cast.team.pools.get(is_default=True)
    pool.fallback = Worker.objects.for_team(site.cast.team.id).get(name="no-prefill")
    pool.fallback.accepts_prefill = True
    pool.fallback.save()
    pool.save()
    return site


def ask(site: Site) -> Said:
    names = site.cast.team.pools.get(is_default=True).places.values_list(
        "worker__name", flat=True
    )
    question = f"{planned([list(names).index('cut-3')])} [[say one two three four]]"
    [said] = ask_all(
        site,
        [("", "", request("conductor-ultra", question, is_streamed=True))],
    )
    return said


def test_D6_a_refused_prefill_is_rescued_and_the_workers_record_says_so(
    refusing: Site,
) -> None:
    team_id = refusing.cast.team.id

    def is_marked() -> bool:
        worker = Worker.objects.for_team(team_id).get(name="no-prefill")
        return not worker.accepts_prefill

    first = ask(refusing)
    assert first.error is None
    assert faults_of(first)[-1] == "prefill_refused"
    assert eventually(is_marked)
    [(actor, data)] = entries_of(refusing, "worker.updated")
    assert actor == "service"
    assert data == {
        "name": "no-prefill",
        "before": {"accepts_prefill": True},
        "after": {"accepts_prefill": False},
        "because_of": {"fault": "prefill_refused", "run": first.run_id},
    }
    second = ask(refusing)
    assert second.answer == first.answer
    assert "prefill_refused" not in faults_of(second)


def test_D6_a_conductor_that_refuses_a_begun_plan_plans_and_its_record_says_so(
    site: Site,
) -> None:
    site.set_conductor("sim-conductor-no-prefill")
    conductor = site.cast.team.pools.get(is_default=True).conductor
    assert conductor is not None
    conductor.uses_prefill = True
    conductor.save()

    def is_marked() -> bool:
        conductor.refresh_from_db()
        return not conductor.uses_prefill

    question = request("conductor-ultra", "What is 17 * 23 + 4?", is_streamed=False)
    first = ask_all(site, [("", "", question)])[0]
    assert "395" in first.answer
    assert faults_of(first) == ["prefill_refused"]
    assert eventually(is_marked)
    assert faults_of(ask_all(site, [("", "", question)])[0]) == []
    assert [actor for actor, _ in entries_of(site, "conductor.updated")] == ["service"]


def failed(fault: CallFault, step: int = 0) -> ev.StepAttemptFailed:
    return ev.StepAttemptFailed(0, step, 1, "a", fault, MESSAGE, Usage(), 0, 1)


@pytest.mark.parametrize(
    ("after", "is_known"),
    [
        ([failed(CallFault.DIVERGED)], True),
        ([failed(CallFault.SERVER_ERROR), failed(CallFault.EMPTY)], True),
        ([failed(CallFault.SERVER_ERROR)], False),
        ([failed(CallFault.BAD_REQUEST), failed(CallFault.EMPTY)], False),
        ([failed(CallFault.EMPTY, step=1)], False),
    ],
)
def test_a_refusal_is_believed_only_once_the_same_request_passes_without_the_beginning(
    after: list[ev.StepAttemptFailed], is_known: bool
) -> None:
    watch = PrefillWatch()
    assert watch.hear(failed(CallFault.PREFILL_REFUSED)) is None
    known = [name for event in after if (name := watch.hear(event)) is not None]
    assert known == (["a"] if is_known else [])
