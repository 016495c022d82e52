"""Comparisons of recorded runs, and a site on which candidates answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.comparisons.models import Comparison
from apps.comparisons.services import comparison_create
from apps.runs.models import Run
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.playground import stories
from tests.playground.conftest import record_run

PROMPT = "What is 17 * 23?"
Recorded = Callable[..., Comparison]


def signed_in(user: User) -> Client:
    """Return a browser of a person."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def recorded(cast: Cast) -> Recorded:
    """Make a comparison of two runs of the team that have ended."""

    def make(*, is_blind: bool = False, models: tuple[str, ...] = MODELS) -> Comparison:
        runs = [
            record_run(cast.team, stories.finished(), model=model) for model in models
        ]
        return kept_comparison(cast, runs, is_blind=is_blind)

    return make


MODELS = ("conductor-ultra", "worker/gpt-5")


def kept_comparison(cast: Cast, runs: list[Run], *, is_blind: bool) -> Comparison:
    """Return a comparison of recorded runs, blind although they were there before."""
    made = comparison_create(team_id=cast.team.id, actor=ACTOR, kept=runs)
    if is_blind:
        Comparison.objects.for_team(cast.team.id).update(is_blind=True)
        made.refresh_from_db()
    return made


def start(site: Site, *models: str, **more: str) -> uuid.UUID:
    """Compare candidates as Alice does on the page; return the comparison's id."""
    fields = {"prompt": PROMPT, "candidate": list(models), **more}
    answer = signed_in(site.cast.alice).post("/comparisons/start/", fields)
    assert answer.status_code == 302, answer.content.decode()
    return uuid.UUID(answer["Location"].split("/")[-2])
