"""A team whose runs are reviewed: rules, people, and a clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import Role, Team, User
from apps.accounts.principal import Principal, member_principal
from apps.governance.models import ReviewItem
from apps.governance.reviews.reads import review_of_run
from apps.governance.services import (
    review_request,
    review_settings_replace,
    reviews_feed,
)
from apps.runs.models import Run
from tests.conftest import Cast, membership
from tests.factories import ACTOR, MembershipFactory, UserFactory
from tests.rest.things import make_run

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
RUBRIC: list[dict[str, Any]] = [
    {"name": "Correct"},
    {"name": "Safe", "kind": "pass_fail"},
]
SCORES = {"Correct": 4, "Safe": "pass"}


def minutes(number: float) -> datetime:
    """Return the moment so long after the test's beginning."""
    return NOW + timedelta(minutes=number)


def rules(team: Team, **values: Any) -> None:
    review_settings_replace(team=team, values=values, actor=ACTOR)


def feed(now: datetime | None = None) -> int:
    """Look at the runs that have ended; return how many were queued."""
    return sum(reviews_feed(now))


def principal(team: Team, user: User) -> Principal:
    return member_principal(user, team, membership(team, user).role, {})


def queued(cast: Cast, run_id: Any) -> ReviewItem:
    item = review_of_run(cast.team.id, run_id)
    assert item is not None
    return item


@pytest.fixture
def rita(cast: Cast) -> User:
    """Reviews."""
    user = UserFactory.create(email="rita@example.org", name="Rita")
    return MembershipFactory.create(team=cast.team, user=user, role=Role.REVIEWER).user


@pytest.fixture
def adam(cast: Cast) -> User:
    """Another one who may review."""
    user = UserFactory.create(email="adam@example.org", name="Adam")
    return MembershipFactory.create(team=cast.team, user=user, role=Role.ADMIN).user


@pytest.fixture
def item(cast: Cast) -> ReviewItem:
    """A run of Alice that waits for a review."""
    rules(cast.team, rubric=RUBRIC)
    run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))
    asking = principal(cast.team, cast.bob)
    return review_request(run=run, principal=asking, now=NOW)
