"""What reads a run goes on reading it when all its texts are gone."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import openai
import pytest
from django.apps import apps
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.audit.models import Content
from apps.audit.services import content_erase, entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.ids import new_id
from apps.engine.codec import encode
from apps.engine.events import (
    Event,
    PlanCallFailed,
    PlanRejectedEvent,
    RunFailed,
    StepAttemptFailed,
    StepFailed,
)
from apps.engine.usage import Usage
from apps.governance.models import Retention
from apps.runs.models import Run
from apps.runs.types import RecordedEvent
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.governance.conftest import erase, later
from tests.playground import stories
from tests.rest.things import make_run

CANARY = "canary-7c1d"
Story = Callable[[], list[RecordedEvent]]
STORIES = [
    stories.planning,
    stories.parallel,
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
]
PLACES = [
    "playground:run_detail",
    "playground:run_body",
    "playground:run_export",
    "playground:plan_context",
    "playground:step_context",
    "playground:compare",
    "rest:run",
    "rest:run_entries",
]


def erased(cast: Cast, story: Story) -> uuid.UUID:
    """Put a run on record and erase every text of it."""
    run_id = make_run(cast, title="", created_at=stories.START)
    records = [encode(recorded.event) for recorded in story()]
    drafts = [EntryDraft(r.action, "run", run_id, ACTOR, *r[1:]) for r in records]
    with transaction.atomic():
        entries_append(batch=Batch(cast.team.id, tuple(drafts)))
    texts = Content.objects.for_team(cast.team.id).values_list("seq", "name")
    content_erase(team_id=cast.team.id, places=texts, actor=ACTOR, reason="old")
    return run_id


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_erased_run_is_read_at_every_address(cast: Cast, story: Story) -> None:
    run_id = erased(cast, story)
    browser = Client()
    browser.force_login(cast.alice)
    plain = {"run_id": run_id}
    arguments: dict[str, dict[str, Any]] = {
        "playground:plan_context": {**plain, "round": 0},
        "playground:step_context": {**plain, "round": 0, "step": 0},
        "playground:compare": {"left": run_id, "right": run_id},
    }
    for place in PLACES:
        answer = browser.get(reverse(place, kwargs=arguments.get(place, plain)))
        # There may be no plan or step to show; but nothing breaks.
        assert answer.status_code in {200, 404}, place
        if answer.status_code == 404:
            assert place.endswith("_context"), place


def test_erased_run_has_its_plan_without_the_words(cast: Cast) -> None:
    browser = Client()
    browser.force_login(cast.alice)
    page = browser.get(f"/runs/{erased(cast, stories.finished)}/").content.decode()
    assert "Erased prompt" in page
    assert "The prompt has been erased." in page
    assert "The subtask has been erased." in page
    assert "The answer has been erased." in page
    assert "claude-sonnet-4" in page


def test_of_two_erased_prompts_nobody_says_whether_they_differ(cast: Cast) -> None:
    browser = Client()
    browser.force_login(cast.alice)
    left, right = (erased(cast, stories.finished) for _ in range(2))
    page = browser.get(f"/compare/{left}/{right}/").content.decode()
    assert ">Two runs</h1>" in page


def test_erased_response_is_retrieved_and_not_continued(
    site: Site, half_a_year: None
) -> None:
    with openai.OpenAI(base_url=site.api_url, api_key=site.key) as client:
        first = client.responses.create(model="conductor-mini", input="What is 6 * 7?")
        assert first.output_text
        erase(later(184))
        kept = client.responses.retrieve(first.id)
        assert (kept.status, kept.output_text) == ("completed", "")
        assert kept.usage == first.usage
        assert client.responses.input_items.list(first.id).data is not None
        with pytest.raises(openai.BadRequestError, match="previous_response"):
            client.responses.create(
                model="conductor-mini", input="Why?", previous_response_id=first.id
            )


def test_list_and_its_search_pass_erased_runs_by(cast: Cast) -> None:
    run_id = erased(cast, stories.finished)
    make_run(cast, id=new_id(), created_at=stories.START + timedelta(days=1))
    assert Run.objects.for_team(cast.team.id).get(id=run_id).title == ""
    browser = Client()
    browser.force_login(cast.alice)
    assert "Erased prompt" in browser.get("/runs/").content.decode()
    assert "Erased prompt" not in browser.get("/runs/?q=prime").content.decode()


def test_g13_nothing_that_was_said_is_left_in_any_table(cast: Cast) -> None:
    run_id = make_run(cast, title=CANARY, error_message=CANARY, state="failed")
    events: list[Event] = [
        replace(stories.created(), prompt=CANARY, params=f'{{"user": "{CANARY}"}}'),
        PlanCallFailed(0, 1, "overloaded", CANARY, Usage(), None, 5),
        PlanRejectedEvent(0, "not_a_plan", CANARY),
        StepAttemptFailed(0, 0, 1, "gpt-5", "invalid_output", CANARY, Usage(), None, 5),
        StepFailed(0, 0, "invalid_output", CANARY),
        RunFailed("worker_failed", CANARY, CANARY, Usage(), 0, False, 9, 1),
    ]
    drafts = []
    for event in events:
        record = encode(event)
        drafts.append(EntryDraft(record.action, "run", run_id, ACTOR, *record[1:]))
    with transaction.atomic():
        entries_append(batch=Batch(cast.team.id, tuple(drafts)))
    Retention.objects.create(team_id=cast.team.id, days=183)
    assert "Run" in tables_with(CANARY)
    assert erase(later(184)) == 8
    assert tables_with(CANARY) == set()


def tables_with(text: str) -> set[str]:
    """Return the models with a row that holds a text, in clear or sealed."""
    found = set()
    for model in apps.get_models():
        rows: Any = model._default_manager.all()
        rows = rows.across_teams() if hasattr(rows, "across_teams") else rows
        values = [value for row in rows.values_list() for value in row]
        sealed = model is Content and rows.filter(sealed__isnull=False).exists()
        if sealed or any(text in str(value) for value in values):
            found.add(model.__name__)
    return found
