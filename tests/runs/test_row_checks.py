"""T12: rows of runs, steps and usage days are derived anew, and differences are named.

Whoever tampers here changes rows and no entry, so every chain holds.
"""

from __future__ import annotations

import io
import random
import re
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.core.management import CommandError, call_command

from apps.accounts.models import Team, User
from apps.audit.rows import SHOWN, verify_rows
from apps.audit.services import content_erase
from apps.audit.writer import close_writer
from apps.engine import events as ev
from apps.runs.coordination.fail_run import BROKEN, run_give_up
from apps.runs.models import Run, Step, UsageDay
from apps.runs.records import row_checks as rederiving
from apps.runs.records.projection import STEP_COLUMNS
from apps.runs.services import run_texts_erase
from apps.runs.usage.daily_rollup import GROUPS
from apps.runs.usage.report import DAY, start_of, sums_between
from tests.audit.examples import ALICE, execute
from tests.factories import TeamFactory, UserFactory
from tests.playground import stories
from tests.runs.recording import record, told
from tests.tiers import trials

pytestmark = pytest.mark.django_db(transaction=True)

STORIES = (
    stories.finished,
    stories.rescued,
    stories.failed,
    stories.cancelled,
    stories.rejected,
    stories.chained,
    stories.called_tools,
    stories.raced,
    stories.put_right,
    stories.went_on,
)
WITH_STEPS = (stories.finished, stories.rescued, stories.failed)
Difference = tuple[str, str]
"""Row and column."""


def verify(*arguments: object) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("audit_verify", *map(str, arguments), stdout=out, stderr=err)
    except CommandError as exc:
        err.write(str(exc))
    return out.getvalue(), err.getvalue()


def differences(team: Team) -> list[Difference]:
    return [(fault.row, fault.column) for fault in verify_rows(team.id).faults]


@pytest.fixture
def team() -> Team:
    return TeamFactory.create()


@pytest.fixture
def user() -> User:
    return UserFactory.create(name="Alice")


def keep_day(team: Team) -> None:
    """Keep the day of the team's runs as if it were over."""
    day = Run.objects.for_team(team.id).order_by("id")[0].created_at.date()
    begin = start_of(day)
    for slot, sums in sums_between(team.id, begin, begin + DAY, GROUPS).items():
        UsageDay(team=team, **slot._asdict(), **sums._asdict()).save()


# --- sound rows ----------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 2, 50])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_rows_of_every_story_follow_from_its_entries(
    team: Team, user: User, story: Callable[[], Sequence[Any]], at_once: int
) -> None:
    record(team, told(story), user, at_once)
    keep_day(team)
    assert differences(team) == []


def looped() -> Run:
    """Record a run with a fault and a loop."""
    run = record(TeamFactory.create(), told(stories.planned_again))
    assert [each["stage"] for each in run.findings or []] == ["step", "loop"]
    return run


def test_faults_and_loops_of_a_row_follow_from_its_entries() -> None:
    run = looped()
    assert differences(run.team) == []


@pytest.mark.parametrize("place", [0, 1])
def test_fault_or_loop_that_was_made_up_is_found(place: int) -> None:
    run = looped()
    findings = list(run.findings or [])
    findings[place] = {**findings[place], "cost": 7}
    Run.objects.for_team(run.team_id).filter(id=run.id).update(findings=findings)
    assert differences(run.team) == [(f"run {run.id}", "findings")]


def test_loop_that_no_row_names_is_found() -> None:
    run = looped()
    faults = [each for each in run.findings or [] if each["stage"] != "loop"]
    Run.objects.for_team(run.team_id).filter(id=run.id).update(findings=faults)
    assert differences(run.team) == [(f"run {run.id}", "findings")]
    Run.objects.for_team(run.team_id).filter(id=run.id).update(findings=[])
    assert differences(run.team) == [(f"run {run.id}", "findings")]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "cancelled"),
        ("tier", "mini"),
        ("family", "invoices"),
        ("preset_id", uuid.UUID(int=7)),
        ("planner", "fallback"),
        ("plan", []),
        ("shape", "0123456789abcdef"),
        ("prompt_tokens", 7),
        ("completion_tokens", 7),
        ("cost_micros", 7),
        ("has_unknown_cost", True),
        ("latency_ms", 7),
        ("first_token_ms", 7),
        ("asked_tokens", 7),
        ("answer_tokens", 7),
        ("findings", []),
        ("error_code", "timeout"),
        ("api_key_id", None),
    ],
)
def test_each_column_that_insights_sum_is_compared(
    user: User, column: str, value: object
) -> None:
    team = TeamFactory.create()
    run = record(team, told(stories.planned_again), user)
    if column == "api_key_id":  # of another key than the entries name
        column, value = "user_id", UserFactory.create().id
    assert getattr(run, column) != value
    set_run(run, **{column: value})
    assert differences(team) == [(f"run {run.id}", column)]


def test_loop_stays_when_its_texts_are_erased() -> None:
    run = looped()
    places = [
        (seq, name)
        for seq in range(1, 40)
        for name in ("subtasks", "text", "prompt", "messages")
    ]
    content_erase(team_id=run.team_id, places=places, actor=ALICE, reason="over")
    run_texts_erase(run.team_id, [run.id])
    assert differences(run.team) == []


def test_run_that_ended_before_facts_were_noted_is_sound() -> None:
    run = looped()
    Run.objects.for_team(run.team_id).filter(id=run.id).update(
        findings=None, asked_tokens=None, answer_tokens=None, first_token_ms=None
    )
    assert differences(run.team) == []


def test_a_run_is_compared_after_each_of_its_commits(team: Team) -> None:
    for length in range(1, len(told(stories.went_on)) + 1):
        record(team, told(stories.went_on)[:length], at_once=1)
    assert differences(team) == []


def test_the_command_says_what_it_derived(team: Team, user: User) -> None:
    for _ in range(3):
        record(team, told(stories.finished), user)
    keep_day(team)
    out, err = verify()
    steps = Step.objects.for_team(team.id).count()
    assert f"team {team.id}: 3 runs, {steps} steps, 1 days derived anew" in out
    assert err == ""


async def test_a_run_that_was_given_up_is_sound() -> None:
    sync = database_sync_to_async
    team = await sync(TeamFactory.create)()
    events = told(stories.went_on)
    cut = next(i for i, e in enumerate(events) if isinstance(e, ev.StepStarted)) + 1
    run = await sync(record)(team, events[:cut], None, 1)
    await run_give_up(run, BROKEN)
    await sync(close_writer)()
    assert await sync(differences)(team) == []


def test_erased_texts_are_missed_by_nobody(team: Team) -> None:
    for story in (stories.finished, stories.failed):
        run = record(team, told(story, "A secret"))
        places = [(n, name) for n in range(1, 99) for name in rederiving.TEXTS]
        content_erase(team_id=team.id, places=places, actor=ALICE, reason="over")
        run_texts_erase(team.id, [run.id])
    assert differences(team) == []


def test_words_of_a_failure_may_go_with_the_prompt(team: Team) -> None:
    run = record(team, told(stories.failed))
    content_erase(team_id=team.id, places=[(1, "prompt")], actor=ALICE, reason="over")
    run_texts_erase(team.id, [run.id])
    assert differences(team) == []


def test_a_member_who_is_gone_is_nobody_in_the_days(team: Team, user: User) -> None:
    record(team, told(stories.finished), user)
    keep_day(team)
    user.delete()
    assert differences(team) == []


def test_a_team_that_is_gone_has_no_rows_to_compare(team: Team) -> None:
    record(team, told(stories.finished))
    team_id = team.id
    team.delete()
    assert verify_rows(team_id).differences == 0


# --- changed rows --------------------------------------------------------------------

NUMBERS = (
    "pool_version",
    "steps_total",
    "steps_done",
    "prompt_tokens",
    "completion_tokens",
    "orchestration_prompt_tokens",
    "orchestration_completion_tokens",
    "cost_micros",
    "latency_ms",
    "overhead_ms",
)
WORDS = (
    "title",
    "pool_name",
    "planner",
    "error_code",
    "error_message",
    "actor_type",
    "actor_id",
    "actor_name",
)
STATES = ("completed", "failed", "cancelled", "running")


def changed_number(run: Run) -> Difference:
    column = random.choice(NUMBERS)
    set_run(run, **{column: (getattr(run, column) or 0) + random.randint(1, 1000)})
    return f"run {run.id}", column


def changed_word(run: Run) -> Difference:
    column = random.choice(WORDS)
    set_run(run, **{column: f"{getattr(run, column)}x"[:16]})
    return f"run {run.id}", column


def emptied_title(run: Run) -> Difference:
    set_run(run, title="")
    return f"run {run.id}", "title"


def changed_state(run: Run) -> Difference:
    set_run(run, state=random.choice([s for s in STATES if s != run.state]))
    return f"run {run.id}", "state"


def changed_unknown(run: Run) -> Difference:
    set_run(run, has_unknown_cost=not run.has_unknown_cost)
    return f"run {run.id}", "has_unknown_cost"


def changed_plan(run: Run) -> Difference:
    set_run(run, plan=[{"worker": "another", "access": [], "state": "completed"}])
    return f"run {run.id}", "plan"


def changed_time(run: Run) -> Difference:
    column = random.choice(["created_at", "finished_at"])
    far = timedelta(minutes=random.choice([-99_999, -11, 11, 99_999]))
    set_run(run, **{column: getattr(run, column) + far})
    return f"run {run.id}", column


def changed_member(run: Run) -> Difference:
    set_run(run, user_id=UserFactory.create().id)
    return f"run {run.id}", "user_id"


def changed_step(run: Run) -> Difference:
    step = random.choice(list(Step.objects.for_team(run.team_id).filter(run=run)))
    column = random.choice(STEP_COLUMNS)
    value = getattr(step, column)
    if column == "cost_micros" and random.random() < 0.5 and value is not None:
        value = None
    else:
        value = f"{value}x"[:10] if isinstance(value, str) else (value or 0) + 1
    set_step(step, **{column: value})
    return f"step {step.round}.{step.index} of run {run.id}", column


def removed_step(run: Run) -> Difference:
    step = random.choice(list(Step.objects.for_team(run.team_id).filter(run=run)))
    Step.objects.for_team(run.team_id).filter(pk=step.pk).delete()
    return f"step {step.round}.{step.index} of run {run.id}", "entries"


def added_step(run: Run) -> Difference:
    step = Step.objects.for_team(run.team_id).filter(run=run)[0]
    step.pk, step.round = None, 7
    step.save()
    return f"step 7.{step.index} of run {run.id}", "entries"


def removed_run(run: Run) -> Difference:
    Run.objects.for_team(run.team_id).filter(id=run.id).delete()
    return f"run {run.id}", "entries"


def added_run(run: Run) -> Difference:
    run.pk = uuid.uuid4()
    run.save(force_insert=True)
    return f"run {run.pk}", "entries"


def changed_day(run: Run) -> Difference:
    row = random.choice(list(UsageDay.objects.for_team(run.team_id)))
    column = random.choice(
        ["runs", "failed", "prompt_tokens", "completion_tokens", "cost_micros"]
    )
    rows = UsageDay.objects.for_team(run.team_id).filter(pk=row.pk)
    rows.update(**{column: getattr(row, column) + 1})
    return usage_name(row), column


def removed_day_of_somebody(run: Run) -> Difference:
    rows = UsageDay.objects.for_team(run.team_id).exclude(group="day")
    row = random.choice(list(rows))
    rows.filter(pk=row.pk).delete()
    return usage_name(row), "entries"


def team_begun_later(run: Run) -> Difference:
    day = run.created_at.date() + DAY
    zeros = dict.fromkeys(
        ("runs", "failed", "prompt_tokens", "completion_tokens"), 0
    ) | {"cost_micros": 0, "unknown_costs": 0}
    UsageDay(team_id=run.team_id, day=day, group="begin", **zeros).save()
    return "usage", "begin"


def set_run(run: Run, **values: Any) -> None:
    Run.objects.for_team(run.team_id).filter(id=run.id).update(**values)


def set_step(step: Step, **values: Any) -> None:
    Step.objects.for_team(step.team_id).filter(pk=step.pk).update(**values)


def usage_name(row: UsageDay) -> str:
    return f"usage of {row.day.isoformat()}, {row.group} {row.key}".rstrip()


TAMPERINGS = [
    changed_number,
    changed_word,
    emptied_title,
    changed_state,
    changed_unknown,
    changed_plan,
    changed_time,
    changed_member,
    changed_step,
    removed_step,
    added_step,
    removed_run,
    added_run,
    changed_day,
    removed_day_of_somebody,
    team_begun_later,
]


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_g11_a_changed_row_is_named(
    tamper: Callable[[Run], Difference], user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rederiving, "PAGE", 2)
    for _ in range(trials(5, exhaustive=100)):
        team = TeamFactory.create()
        runs = [record(team, told(s), user, 50) for s in random.sample(WITH_STEPS, 2)]
        keep_day(team)
        assert tamper(random.choice(runs)) in differences(team)


def test_the_command_names_what_differs_and_fails(team: Team) -> None:
    run = record(team, told(stories.finished))
    set_run(run, cost_micros=1)
    out, err = verify()
    cost = f"cost_micros: stored 1, derived {run.cost_micros}"
    assert f"team {team.id}: row run {run.id}: {cost}" in err
    assert "1 places of rows differ from the ledger" in err
    assert "1 runs" in out


def test_texts_are_compared_and_not_quoted(team: Team) -> None:
    run = record(team, told(stories.failed, "The secret question"))
    set_run(run, title="A lie", error_message="Another lie", actor_name="Malory")
    _, err = verify()
    assert re.findall(r": (\w+): stored \(not shown\)", err) == [
        "error_message",
        "title",
        "actor_name",
    ]
    for text in ("secret", "lie", "Malory", "Alice"):
        assert text not in err


def test_one_run_can_be_compared(team: Team) -> None:
    sound, run = (record(team, told(stories.finished)) for _ in range(2))
    set_run(run, cost_micros=1)
    assert verify("--run", sound.id)[1] == ""
    assert f"row run {run.id}: cost_micros" in verify("--run", run.id)[1]
    removed_run(run)
    assert f"row run {run.id}: entries" in verify("--run", run.id)[1]


def test_one_team_can_be_compared(team: Team) -> None:
    other = TeamFactory.create()
    set_run(record(other, told(stories.finished)), cost_micros=1)
    record(team, told(stories.finished))
    assert verify("--team", team.id)[1] == ""


def test_many_differences_are_counted_and_some_are_named(team: Team) -> None:
    for _ in range(SHOWN + 5):
        set_run(record(team, told(stories.cancelled)), cost_micros=10**6)
    report = verify_rows(team.id)
    assert (report.differences, len(report.faults)) == (SHOWN + 5, SHOWN)


def test_texts_that_do_not_open_do_not_keep_the_rest_from_being_compared(
    team: Team,
) -> None:
    run = record(team, told(stories.finished))
    execute("UPDATE audit_content SET sealed = %s", b"\x01x")
    assert differences(team) == []
    set_run(run, cost_micros=1)
    assert differences(team) == [(f"run {run.id}", "cost_micros")]


@pytest.mark.parametrize("canonical", [b"", b"[", b"{}", b"[]", b'{"bodies":{}}'])
def test_entries_that_cannot_be_read_are_said_of_their_run_alone(
    team: Team, canonical: bytes
) -> None:
    record(team, told(stories.finished))
    run = record(team, told(stories.finished))
    changed = record(team, told(stories.finished))
    set_run(changed, cost_micros=1)
    execute(
        "UPDATE audit_entry SET canonical = %s WHERE subject_id = %s", canonical, run.id
    )
    assert differences(team) == [
        (f"run {run.id}", "entries"),
        (f"run {changed.id}", "cost_micros"),
    ]
    assert "they cannot be read" in verify()[1]


def test_a_run_without_its_first_entry_is_named(team: Team) -> None:
    run = record(team, told(stories.finished))
    execute("DELETE FROM audit_entry WHERE seq = 1")
    assert differences(team) == [(f"run {run.id}", "entries")]
