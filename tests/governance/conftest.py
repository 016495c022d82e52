"""A site on which something has been asked, and what time does to it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

import httpx
import pytest
from django.utils import timezone

from apps.audit.selectors import entry_list
from apps.audit.verify import VerifyReport, verify_team
from apps.governance.services import retention_erase, retention_set
from apps.runs.models import Run
from tests.conftest import Site
from tests.factories import ACTOR

PROMPT = "What is 17 * 23 + 4? Think of the canary."
Ask = Callable[..., uuid.UUID]


@pytest.fixture
def ask(site: Site) -> Ask:
    """Ask something over the API and return the id of the run, which is over."""

    def inner(prompt: str = PROMPT) -> uuid.UUID:
        answer = httpx.post(
            f"{site.api_url}/chat/completions",
            headers={"Authorization": f"Bearer {site.key}"},
            json={
                "model": "conductor-mini",
                "messages": [{"role": "user", "content": prompt}],
            },
            timeout=60,
        )
        assert answer.status_code == 200, answer.text
        return Run.objects.for_team(site.cast.team.id).latest("id").id

    return inner


@pytest.fixture
def half_a_year(site: Site) -> None:
    """Let the team keep texts for as short as can be, and have chosen it long ago."""
    row = retention_set(team=site.cast.team, days=183, actor=ACTOR)
    row.begins_at = None
    row.save()


def later(days: int) -> datetime:
    return timezone.now() + timedelta(days=days)


def erase(now: datetime | None = None) -> int:
    """Erase what is over and return how many texts that were."""
    return sum(step.texts for step in retention_erase(now))


def texts_of(team_id: uuid.UUID, run_id: uuid.UUID) -> list[str]:
    """Return all texts of a run that are still there."""
    entries = entry_list(team_id, subject_id=run_id)
    texts = (text for entry in entries for text in entry.bodies.values())
    return [text for text in texts if text is not None]


def report(team_id: uuid.UUID) -> VerifyReport:
    return verify_team(team_id)
