"""What runs of the past have no notes of is derived from their entries."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from apps.audit.rows import verify_rows
from apps.runs.models import Run
from tests.conftest import Cast
from tests.playground import stories
from tests.runs.recording import record, told

pytestmark = pytest.mark.django_db(transaction=True)
NOTES = ("findings", "first_token_ms", "asked_tokens", "answer_tokens")


def forget(run: Run) -> None:
    Run.objects.for_team(run.team_id).filter(id=run.id).update(
        **dict.fromkeys(NOTES, None)
    )


def rebuilt(*arguments: str) -> str:
    out = io.StringIO()
    call_command("insights_rebuild", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    "story", [stories.rescued, stories.planned_again, stories.failed, stories.cancelled]
)
def test_notes_are_those_of_the_end_of_the_run(cast: Cast, story):
    run = record(cast.team, told(story), cast.bob)
    forget(run)
    rebuilt("--team", cast.team.slug)
    again = Run.objects.for_team(cast.team.id).get(id=run.id)
    assert [getattr(again, name) for name in NOTES] == [
        getattr(run, name) for name in NOTES
    ]
    assert verify_rows(cast.team.id).faults == []


def test_it_says_of_how_many_and_does_nothing_the_second_time(cast: Cast):
    forget(record(cast.team, told(stories.rescued), cast.bob))
    assert f"{cast.team.slug}: 1 runs noted" in rebuilt()
    assert f"{cast.team.slug}: 0 runs noted" in rebuilt()


def test_running_runs_are_left_alone(cast: Cast):
    run = record(cast.team, told(stories.planning), cast.bob)
    rebuilt()
    assert Run.objects.for_team(cast.team.id).get(id=run.id).findings is None


def test_unknown_team_is_refused(cast: Cast):
    with pytest.raises(CommandError):
        rebuilt("--team", "nobody")
