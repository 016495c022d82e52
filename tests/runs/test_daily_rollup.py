"""What is over is summed once and kept; the figures stay those of the rows."""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from apps.accounts.models import ApiKey, User
from apps.core.ids import first_id
from apps.runs.models import Run, RunState, Step, UsageDay, UsagePart
from apps.runs.selectors import usage_by
from apps.runs.services import usage_report
from apps.runs.types import UsageGroup, UsageRow
from apps.runs.usage.report import part_day, sums_between
from apps.runs.usage.rollup_schedule import usage_keep, usage_watch
from tests.conftest import Cast
from tests.factories import UserFactory, issue_key
from tests.runs.test_usage import ran, step

GROUPS: tuple[UsageGroup, ...] = ("day", "worker", "member", "key")
NAMES = {"member": "A former member", "key": "Without a key"}
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
MIDNIGHT = datetime(2025, 1, 31, tzinfo=UTC)
ID = first_id(MIDNIGHT)
"""Given where the clock is put forward: made ids would stay ahead of it ever after."""


def report(cast: Cast, since: datetime, until: datetime) -> dict[Any, list[UsageRow]]:
    return usage_report(team_id=cast.team.id, groups=GROUPS, since=since, until=until)


def keep_usage(team_id: uuid.UUID) -> None:
    for _ in usage_keep(team_id):
        pass


def kept_days(cast: Cast) -> list[str]:
    kept = UsageDay.objects.for_team(cast.team.id).filter(group="day")
    return [each.day.isoformat() for each in kept.order_by("day")]


# --- the same figures ----------------------------------------------------------------


def row_by_row(cast: Cast, group: str, since: datetime, until: datetime) -> set[Any]:
    """Add up in the plainest way there is."""
    sums: dict[Any, list[Any]] = defaultdict(lambda: [set(), 0, 0, 0, 0, False])
    runs = [r for r in Run.objects.for_team(cast.team.id) if since <= r.created_at]
    runs = [run for run in runs if run.created_at < until]
    users: dict[Any, str] = {user.id: user.name for user in User.objects.all()}
    keys: dict[Any, str] = {key.id: key.name for key in cast.team.api_keys.all()}

    def whose(run: Run, part: Any) -> dict[str, Any]:
        return {
            "day": (run.created_at.astimezone(UTC).date().isoformat(), None),
            "worker": (getattr(part, "worker", None), None),
            "member": (users.get(run.user_id, NAMES["member"]), run.user_id),
            "key": (keys.get(run.api_key_id, NAMES["key"]), run.api_key_id),
        }

    for run in runs:
        parts: list[Any] = [run]
        if group == "worker":
            parts = [s for s in run.steps.all() if s.state != "skipped"]
        for part in parts:
            label, id = whose(run, part)[group]
            each = sums[label, id]
            each[0].add(run.id)
            each[1] += part.state == "failed"
            each[2] += part.prompt_tokens
            each[3] += part.completion_tokens
            each[4] += part.cost_micros or 0
            each[5] |= part.cost_micros is None or getattr(
                part, "has_unknown_cost", False
            )
    if group == "worker":
        rest = [
            sum(getattr(run, name) for run in runs) - sum(s[at] for s in sums.values())
            for at, name in (
                (2, "prompt_tokens"),
                (3, "completion_tokens"),
                (4, "cost_micros"),
            )
        ]
        if any(rest):
            unknown = sum(run.has_unknown_cost for run in runs)
            of_steps = sum(
                step.cost_micros is None
                for run in runs
                for step in run.steps.all()
                if step.state != "skipped"
            )
            is_unknown = unknown > of_steps or bool(unknown and not rest[2])
            sums["Planning and interrupted calls", None] = [None, 0, *rest, is_unknown]
    return {
        (*key, None if ids is None else len(ids), *each)
        for key, (ids, *each) in sums.items()
    }


def as_set(rows: list[UsageRow]) -> set[Any]:
    return {
        (
            row.label,
            row.id,
            row.runs,
            row.failed,
            row.prompt_tokens,
            row.completion_tokens,
            row.cost_micros,
            row.has_unknown_cost,
        )
        for row in rows
    }


class House:
    """Does things as a team does, at random."""

    def __init__(self, cast: Cast, random: Random) -> None:
        self.cast, self.random = cast, random
        self.people = [cast.alice, cast.bob, UserFactory.create(name="Carol"), None]
        self.keys = [cast.key.row, issue_key(cast.team, name="spare").row, None]
        self.running: list[Run] = []

    def run(self, at: datetime) -> None:
        random = self.random
        is_running = random.random() < 0.2
        run = ran(
            self.cast,
            at,
            id=uuid.UUID(int=first_id(at).int + random.randrange(2**60)),
            state=RunState.RUNNING if is_running else self.end(),
            user=random.choice(self.people),
            api_key=random.choice(self.keys),
            prompt_tokens=random.randrange(1000),
            completion_tokens=random.randrange(1000),
            cost_micros=random.randrange(10**6),
            has_unknown_cost=random.random() < 0.2,
        )
        for index in range(random.randrange(4)):
            self.step(run, index)
        if is_running:
            self.running.append(run)

    def step(self, run: Run, index: int) -> None:
        worker, state = (
            self.random.choice(("alpha", "beta", "gamma")),
            self.random.choice(("completed", "failed", "skipped")),
        )
        cost = self.random.choice((None, self.random.randrange(1000)))
        step(run, worker, index, state=state, cost_micros=cost)

    def end(self) -> RunState:
        ends = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
        return self.random.choice(ends)

    def end_late(self) -> None:
        """Let some of the runs in progress end, which costs more."""
        self.random.shuffle(self.running)
        for run in self.running[::2]:
            run.state = self.end()
            run.cost_micros += self.random.randrange(10**6)
            run.save()
            self.step(run, 9)
        self.running = self.running[1::2]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_kept_changes_no_figure(cast, seed, monkeypatch):
    monkeypatch.setattr("apps.runs.usage.intraday_rollup.ENOUGH", 3)
    random = Random(seed)
    house, before = House(cast, random), MIDNIGHT - 6 * DAY
    with time_machine.travel(MIDNIGHT, tick=False) as clock:
        for turn in range(4):
            now = MIDNIGHT + turn * random.random() * 2 * DAY
            now = max(now, before)
            clock.move_to(now)
            for _ in range(15):  # what begins, begins after all that is kept
                house.run(now - random.random() * (now - before))
            if random.random() < 0.8:
                keep_usage(cast.team.id)
            for _ in range(3):
                since = now - random.random() * 7 * DAY
                if random.random() < 0.7:
                    since = since.replace(hour=0, minute=0, second=0, microsecond=0)
                until = now
                if random.random() < 0.5:
                    until = since + random.random() * (now + DAY - since)
                found = report(cast, since, until)
                for group in GROUPS:
                    expected = row_by_row(cast, group, since, until)
                    assert as_set(found[group]) == expected
                    alone = usage_by(cast.team.id, group, since, until)
                    assert as_set(alone) == expected
            house.end_late()
            before = now
    assert kept_days(cast)


# --- days that are over --------------------------------------------------------------


def test_a_day_is_kept_an_hour_after_its_end(cast):
    with time_machine.travel(MIDNIGHT - timedelta(hours=12), tick=False) as clock:
        ran(cast, timezone.now(), id=ID)
        for later, days in ((0, []), (12.9, []), (13, ["2025-01-30"])):
            clock.move_to(MIDNIGHT + timedelta(hours=later - 12))
            keep_usage(cast.team.id)
            assert kept_days(cast) == days


def test_a_day_waits_for_its_last_run(cast):
    with time_machine.travel(MIDNIGHT - timedelta(hours=1), tick=False) as clock:
        run = ran(cast, timezone.now(), id=ID, state=RunState.RUNNING, cost_micros=1)
        clock.move_to(MIDNIGHT + 2 * DAY)
        period = MIDNIGHT - 2 * DAY, MIDNIGHT + DAY
        keep_usage(cast.team.id)
        assert sum(row.cost_micros for row in report(cast, *period)["member"]) == 1
        assert kept_days(cast) == ["2025-01-31"]
        run.state, run.cost_micros = RunState.COMPLETED, 5
        run.save()
        keep_usage(cast.team.id)
        assert sum(row.cost_micros for row in report(cast, *period)["member"]) == 5
        assert kept_days(cast) == ["2025-01-30", "2025-01-31"]


def test_what_is_kept_is_not_summed_again(cast):
    now = timezone.now()
    step(ran(cast, now - 3 * DAY, user=cast.bob), "alpha")
    period = now - 5 * DAY, now
    keep_usage(cast.team.id)
    before = report(cast, *period)
    Step.objects.for_team(cast.team.id).delete()
    Run.objects.for_team(cast.team.id).delete()
    assert report(cast, *period) == before
    assert before["worker"][0].label == "alpha"


def test_days_are_kept_from_the_first_run_on(cast, recorded_queries):
    now = timezone.now()
    ran(cast, now - 5 * DAY)
    keep_usage(cast.team.id)
    assert len(kept_days(cast)) in {5, 4}  # the first hour of a day keeps one less
    with recorded_queries():
        report(cast, now - 90 * DAY, now)


def test_the_newest_days_are_kept_first_and_few_at_once(cast, monkeypatch):
    now, seen = timezone.now(), []

    def note(team_id: Any, begin: datetime, end: datetime, groups: Any) -> Any:
        seen.append((begin, end))
        return sums_between(team_id, begin, end, groups)

    monkeypatch.setattr("apps.runs.usage.daily_rollup.sums_between", note)
    monkeypatch.setattr("apps.runs.usage.daily_rollup.DAYS_AT_ONCE", 2)
    ran(cast, now - 7 * DAY)
    keep_usage(cast.team.id)
    assert seen == sorted(seen, reverse=True)
    assert {end - begin for begin, end in seen} <= {DAY, 2 * DAY}
    assert len(kept_days(cast)) in {7, 6}


def test_very_old_days_are_left_to_whoever_asks(cast, monkeypatch):
    monkeypatch.setattr("apps.runs.usage.daily_rollup.KEPT_BACK", 3 * DAY)
    now = timezone.now()
    ran(cast, now - 9 * DAY)
    keep_usage(cast.team.id)
    assert len(kept_days(cast)) == 3
    assert [row.runs for row in report(cast, now - 20 * DAY, now)["day"]] == [1]


@pytest.mark.parametrize("year", [1, 1969, 2000, 9999])
def test_odd_times_are_those_of_nothing(cast, year):
    ran(cast, timezone.now() - 3 * DAY)
    keep_usage(cast.team.id)
    since = datetime(year, 1, 1, 1, tzinfo=UTC)
    assert report(cast, since, since + 300 * DAY)["day"] == []


def test_another_teams_days_are_its_own(cast):
    now = timezone.now()
    ran(cast, now - 3 * DAY, team=cast.other_team)
    keep_usage(cast.other_team.id)
    keep_usage(cast.team.id)
    assert report(cast, now - 5 * DAY, now)["day"] == []


def test_names_are_those_of_today(cast):
    now = timezone.now()
    key = issue_key(cast.team, name="old name").row
    ran(cast, now - 3 * DAY, user=cast.bob, api_key=key)
    ran(cast, now - 2 * DAY, user=cast.vera)
    ran(cast, now - 2 * DAY, user=cast.mallory)  # was a member when it began
    ran(cast, now - 2 * DAY)
    period = now - 5 * DAY, now
    keep_usage(cast.team.id)
    User.objects.filter(id=cast.bob.id).update(name="Robert")
    ApiKey.objects.for_team(cast.team.id).filter(id=key.id).update(name="new name")
    cast.vera.delete()
    found = report(cast, *period)
    assert {(r.label, r.id, r.runs) for r in found["member"]} == {
        ("Robert", cast.bob.id, 1),
        ("Mallory", cast.mallory.id, 1),
        ("A former member", None, 2),
    }
    assert {r.label for r in found["key"]} == {"new name", "Without a key"}


def test_two_processes_at_once_keep_each_day_once(cast, monkeypatch):
    now = timezone.now()
    ran(cast, now - 3 * DAY, user=cast.bob)
    both = threading.Barrier(2, timeout=20)

    def sum_together(*args: Any) -> Any:
        sums = sums_between(*args)
        both.wait()  # now both have sums, and neither has kept them
        return sums

    def keep() -> None:
        try:
            keep_usage(cast.team.id)
        finally:
            connection.close()

    monkeypatch.setattr("apps.runs.usage.daily_rollup.sums_between", sum_together)
    keepers = [threading.Thread(target=keep) for _ in range(2)]
    for keeper in keepers:
        keeper.start()
    for keeper in keepers:
        keeper.join()
    assert [row.runs for row in report(cast, now - 5 * DAY, now)["member"]] == [1]
    assert len(set(kept_days(cast))) == len(kept_days(cast)) in {3, 2}


def test_days_and_parts_go_with_their_team(cast, monkeypatch):
    monkeypatch.setattr("apps.runs.usage.intraday_rollup.ENOUGH", 1)
    with time_machine.travel(MIDNIGHT + DAY / 2, tick=False):
        for at in (MIDNIGHT - DAY, MIDNIGHT + DAY / 4):
            ran(cast, at, id=first_id(at))
        keep_usage(cast.team.id)
        assert kept_days(cast) and kept_parts(cast)
        cast.team.delete()
    assert not UsageDay.objects.across_teams().exists()
    assert not UsagePart.objects.across_teams().exists()


# --- the day in progress -------------------------------------------------------------


def kept_parts(cast: Cast) -> list[timedelta]:
    """Return until when parts of days are kept, since MIDNIGHT."""
    kept = UsagePart.objects.for_team(cast.team.id).filter(group="day")
    return [each.until - MIDNIGHT for each in kept.order_by("until")]


@pytest.fixture
def _noon(cast, monkeypatch):
    """Begin a run at ten o'clock and one five minutes before noon."""
    monkeypatch.setattr("apps.runs.usage.intraday_rollup.ENOUGH", 1)
    with time_machine.travel(MIDNIGHT + 12 * HOUR, tick=False) as clock:
        for at in (10 * HOUR, 12 * HOUR - 5 * MINUTE):
            begun = MIDNIGHT + at
            step(ran(cast, begun, id=first_id(begun), user=cast.bob), "alpha")
        yield clock


def figures(cast: Cast) -> set[Any]:
    found = report(cast, MIDNIGHT, timezone.now())
    return {(group, *row) for group in GROUPS for row in as_set(found[group])}


def test_a_day_is_kept_until_ten_minutes_ago(cast, _noon):
    before = figures(cast)
    keep_usage(cast.team.id)
    assert kept_parts(cast) == [12 * HOUR - 10 * MINUTE]
    assert figures(cast) == before
    Run.objects.for_team(cast.team.id).filter(
        created_at__lt=MIDNIGHT + 11 * HOUR
    ).delete()
    assert figures(cast) == before


def test_a_part_adds_to_the_one_before(cast, _noon):
    keep_usage(cast.team.id)
    before = figures(cast)
    Run.objects.for_team(cast.team.id).filter(
        created_at__lt=MIDNIGHT + 11 * HOUR
    ).delete()
    _noon.move_to(MIDNIGHT + 13 * HOUR)
    keep_usage(cast.team.id)
    assert kept_parts(cast) == [12 * HOUR - 10 * MINUTE, 13 * HOUR - 10 * MINUTE]
    assert figures(cast) == before


def test_a_part_ends_where_a_run_goes_on(cast, _noon):
    at = MIDNIGHT + 11 * HOUR
    ran(cast, at, id=first_id(at), state=RunState.RUNNING)
    for later in (0, 1):
        _noon.move_to(MIDNIGHT + (12 + later) * HOUR)
        keep_usage(cast.team.id)
        assert kept_parts(cast) == [11 * HOUR]


def test_little_news_makes_no_part(cast, _noon, monkeypatch):
    monkeypatch.setattr("apps.runs.usage.intraday_rollup.ENOUGH", 2)
    keep_usage(cast.team.id)
    assert kept_parts(cast) == []


def test_a_period_that_begins_later_is_none_of_the_part(cast, _noon):
    keep_usage(cast.team.id)
    found = report(cast, MIDNIGHT + 11 * HOUR, timezone.now())
    assert [row.runs for row in found["member"]] == [1]


def test_the_last_two_parts_stay_until_the_day_is_kept(cast, _noon):
    for hour, kept in ((13, 1), (14, 2), (15, 3), (16, 3)):
        at = MIDNIGHT + (hour - 1) * HOUR + 30 * MINUTE
        ran(cast, at, id=first_id(at))
        _noon.move_to(MIDNIGHT + hour * HOUR)
        keep_usage(cast.team.id)
        assert len(kept_parts(cast)) == kept  # the new one, and two before
    before = figures(cast)
    _noon.move_to(MIDNIGHT + 25 * HOUR)
    keep_usage(cast.team.id)
    assert kept_parts(cast) == []
    assert kept_days(cast) == ["2025-01-31"]
    assert figures(cast) == before


def test_a_part_that_goes_while_it_is_read_is_summed_from_runs(
    cast, _noon, monkeypatch
):
    keep_usage(cast.team.id)
    before = figures(cast)

    def drop(until: datetime) -> Any:
        UsagePart.objects.for_team(cast.team.id).delete()
        return part_day(until)

    monkeypatch.setattr("apps.runs.usage.report.part_day", drop)
    assert figures(cast) == before


# --- who keeps it, and when ----------------------------------------------------------


def test_all_teams_are_kept_once_a_day_and_else_those_at_work(cast):
    with time_machine.travel(MIDNIGHT + 12 * HOUR, tick=False) as clock:
        watch, every = usage_watch(), {cast.team.id, cast.other_team.id}
        next(watch.keep())  # goes no further, so it begins anew
        assert every <= set(watch.keep())
        assert list(watch.keep()) == []
        ran(cast, timezone.now(), id=first_id(timezone.now()))
        assert set(watch.keep()) == {cast.team.id}
        clock.move_to(MIDNIGHT + 25 * HOUR)
        assert every <= set(watch.keep())


def test_the_command_keeps_what_is_due(cast, capsys):
    ran(cast, timezone.now() - 3 * DAY)
    call_command("usage_keep")
    assert kept_days(cast)
    assert "is added up" in capsys.readouterr().out
