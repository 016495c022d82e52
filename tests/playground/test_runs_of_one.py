"""The runs of one person, of one key, and of one conversation, from a run's page."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Team
from apps.conversations.models import Conversation, Turn
from apps.core.ids import new_id
from apps.runs.models import Run
from tests.factories import issue_key
from tests.playground import stories
from tests.playground.conftest import record_run


@pytest.fixture
def other(team: Team) -> Run:
    return record_run(team, stories.finished(), title="The other run")


def conversation_with(team: Team, *runs: Run) -> Conversation:
    made = Conversation.objects.create(
        team=team, owner_type="user", owner_id=str(new_id()), used_at=timezone.now()
    )
    for run in runs:
        Turn.objects.create(conversation=made, run_id=run.id)
    return made


def titles(browser: Client, address: str) -> list[str]:
    page = browser.get(address).content.decode()
    return re.findall(r'<a href="/runs/[0-9a-f-]{36}/"[^>]*>([^<]*)</a>', page)


def link(browser: Client, run: Run, name: str) -> str:
    page = browser.get(f"/runs/{run.id}/").content.decode()
    found = re.search(rf'href="(/runs/\?{name}=[^"]*)"', page)
    assert found
    return found[1]


def test_page_of_a_run_leads_to_the_runs_of_its_person(bob, team, run, other):
    person = UUID(bob.session["_auth_user_id"])
    Run.objects.for_team(team.id).filter(id=run.id).update(user=person)
    address = link(bob, run, "member")
    assert address == f"/runs/?member={person.hex}"
    assert titles(bob, address) == [run.title]


def test_page_of_a_run_leads_to_the_runs_of_its_key(bob, team, run, other):
    key = issue_key(team).row
    runs = Run.objects.for_team(team.id).filter(id=run.id)
    runs.update(api_key=key, user=None)
    assert titles(bob, link(bob, run, "key")) == [run.title]


def test_runs_of_a_conversation_are_listed(bob, vera, team, run, other):
    third = record_run(team, stories.finished(), title="A third run")
    made = conversation_with(team, run, third)
    address = link(bob, run, "conversation")
    assert address == f"/runs/?conversation={made.id}"
    for browser in (bob, vera):
        assert titles(browser, address) == ["A third run", run.title]
    assert "One conversation" in bob.get(address).content.decode()


def test_run_outside_of_conversations_leads_to_none(bob, run):
    assert "conversation=" not in bob.get(f"/runs/{run.id}/").content.decode()


def test_conversation_of_another_team_has_no_runs_here(mallory, team, run):
    made = conversation_with(team, run)
    assert titles(mallory, f"/runs/?conversation={made.id}") == []
