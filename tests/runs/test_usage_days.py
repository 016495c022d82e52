"""Days that are over are summed once; the figures stay those of the rows."""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from apps.accounts.models import ApiKey, User
from apps.core.ids import first_id
from apps.runs.models import Run, RunState, Step, UsageDay
from apps.runs.selectors import usage_by
from apps.runs.services import usage_report
from apps.runs.types import UsageGroup, UsageRow
from apps.runs.usage import sums_by_day
from tests.conftest import Cast
from tests.factories import UserFactory, issue_key
from tests.runs.test_usage import ran, step

GROUPS: tuple[UsageGroup, ...] = ("day", "worker", "member", "key")
NAMES = {"member": "Nobody any more", "key": "Without a key"}
DAY = timedelta(days=1)
MIDNIGHT = datetime(2030, 1, 31, tzinfo=UTC)
ID = first_id(MIDNIGHT)
"""Given where the clock is put forward: made ids would stay ahead of it ever after."""


def report(cast: Cast, since: datetime, until: datetime) -> dict[Any, list[UsageRow]]:
    return usage_report(team_id=cast.team.id, groups=GROUPS, since=since, until=until)


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
            every = {run.id for run in runs}
            sums["Planning and cut-off calls", None] = [every, 0, *rest, False]
    return {(*key, len(ids), *each) for key, (ids, *each) in sums.items()}


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
def test_kept_days_change_no_figure(cast, seed):
    random, now = Random(seed), timezone.now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    house = House(cast, random)
    for turn in range(3):
        for _ in range(15):
            past = 6 * DAY if turn == 0 else now - today  # what begins, begins now
            house.run(now - random.random() * past)
        for _ in range(3):
            since = now - random.random() * 7 * DAY
            if random.random() < 0.5:
                since = since.replace(hour=0, minute=0, second=0, microsecond=0)
            until = since + random.random() * (now + DAY - since)
            found = report(cast, since, until)
            for group in GROUPS:
                expected = row_by_row(cast, group, since, until)
                assert as_set(found[group]) == expected
                assert as_set(usage_by(cast.team.id, group, since, until)) == expected
        house.end_late()
    assert kept_days(cast)


# --- what is kept, and when ----------------------------------------------------------


def test_a_day_is_kept_an_hour_after_its_end(cast):
    with time_machine.travel(MIDNIGHT - timedelta(hours=12), tick=False) as clock:
        ran(cast, timezone.now(), id=ID)
        for later, days in ((0, []), (12.9, []), (13, ["2030-01-30"])):
            clock.move_to(MIDNIGHT + timedelta(hours=later - 12))
            report(cast, MIDNIGHT - DAY, timezone.now() + DAY)
            assert kept_days(cast) == days


def test_a_day_waits_for_its_last_run(cast):
    with time_machine.travel(MIDNIGHT - timedelta(hours=1), tick=False) as clock:
        run = ran(cast, timezone.now(), id=ID, state=RunState.RUNNING, cost_micros=1)
        clock.move_to(MIDNIGHT + 3 * DAY)
        period = MIDNIGHT - 2 * DAY, MIDNIGHT + DAY
        assert sum(row.cost_micros for row in report(cast, *period)["member"]) == 1
        assert kept_days(cast) == ["2030-01-29", "2030-01-31"]
        run.state, run.cost_micros = RunState.COMPLETED, 5
        run.save()
        assert sum(row.cost_micros for row in report(cast, *period)["member"]) == 5
        assert kept_days(cast) == ["2030-01-29", "2030-01-30", "2030-01-31"]


def test_what_is_kept_is_not_summed_again(cast):
    now = timezone.now()
    step(ran(cast, now - 3 * DAY, user=cast.bob), "alpha")
    period = now - 5 * DAY, now
    before = report(cast, *period)
    Step.objects.for_team(cast.team.id).delete()
    Run.objects.for_team(cast.team.id).delete()
    assert report(cast, *period) == before
    assert before["worker"][0].label == "alpha"


def test_days_of_nothing_are_kept_as_well(cast, django_assert_max_num_queries):
    now = timezone.now()
    report(cast, now - 5 * DAY, now)
    assert len(kept_days(cast)) in {4, 3}  # the first hour of a day keeps one less
    with django_assert_max_num_queries(9):
        report(cast, now - 5 * DAY, now)


@pytest.mark.parametrize("year", [1, 1969, 2000, 9999])
def test_odd_times_fill_no_table(cast, year):
    since = datetime(year, 1, 1, 1, tzinfo=UTC)
    assert report(cast, since, since + 300 * DAY)["day"] == []
    assert not UsageDay.objects.across_teams().exists()


def test_another_teams_days_are_its_own(cast):
    now = timezone.now()
    ran(cast, now - 3 * DAY, team=cast.other_team)
    period = now - 5 * DAY, now
    usage_report(
        team_id=cast.other_team.id, groups=GROUPS, since=period[0], until=period[1]
    )
    assert report(cast, *period)["day"] == []


def test_names_are_those_of_today(cast):
    now = timezone.now()
    key = issue_key(cast.team, name="old name").row
    ran(cast, now - 3 * DAY, user=cast.bob, api_key=key)
    ran(cast, now - 2 * DAY, user=cast.vera)
    ran(cast, now - 2 * DAY, user=cast.mallory)  # was a member when it began
    ran(cast, now - 2 * DAY)
    period = now - 5 * DAY, now
    report(cast, *period)
    User.objects.filter(id=cast.bob.id).update(name="Robert")
    ApiKey.objects.for_team(cast.team.id).filter(id=key.id).update(name="new name")
    cast.vera.delete()
    found = report(cast, *period)
    assert {(r.label, r.id, r.runs) for r in found["member"]} == {
        ("Robert", cast.bob.id, 1),
        ("Mallory", cast.mallory.id, 1),
        ("Nobody any more", None, 2),
    }
    assert {r.label for r in found["key"]} == {"new name", "Without a key"}


def test_two_viewers_at_once_keep_each_day_once(cast, monkeypatch):
    now = timezone.now()
    ran(cast, now - 3 * DAY, user=cast.bob)
    period = now - 5 * DAY, now
    both, found = threading.Barrier(2, timeout=20), []

    def sum_together(*args: Any) -> Any:
        sums = sums_by_day(*args)
        both.wait()  # now both have sums, and neither has kept them
        return sums

    def view() -> None:
        try:
            found.append(report(cast, *period))
        finally:
            connection.close()

    monkeypatch.setattr("apps.runs.usage_days.sums_by_day", sum_together)
    viewers = [threading.Thread(target=view) for _ in range(2)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    assert [[row.runs for row in each["member"]] for each in found] == [[1], [1]]
    assert len(set(kept_days(cast))) == len(kept_days(cast)) >= 3


def test_days_go_with_their_team(cast):
    now = timezone.now()
    report(cast, now - 5 * DAY, now)
    cast.team.delete()
    assert not UsageDay.objects.across_teams().exists()
