"""Conversations that nobody uses are deleted where their team wants it."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.principal import user_actor
from apps.accounts.services import member_remove
from apps.audit.models import Entry
from apps.conversations.models import Conversation
from apps.conversations.services import (
    conversation_change,
    conversation_create,
    conversation_of_run,
)
from apps.core.errors import InvalidFields
from apps.governance.models import Retention
from apps.governance.services import (
    conversations_expire,
    hold_place,
    idle_rule_set,
)
from apps.runs.models import Run
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.governance.conftest import later
from tests.rest.conftest import fault, member
from tests.rest.things import make_run

PAGE, EDIT = "/retention/", "/retention/conversations/"


def begun(cast: Cast, user: User, **values: Any) -> Conversation:
    """Make a conversation with a turn."""
    run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))
    return conversation_of_run(run, user_actor(user, {}), values)


def rule(cast: Cast, days: int | None = 30, keeps_pinned: bool = True) -> None:
    """Set a rule that has begun long ago."""
    idle_rule_set(team=cast.team, days=days, keeps_pinned=keeps_pinned, actor=ACTOR)
    rows = Retention.objects.for_team(cast.team.id)
    rows.update(conversations_begin_at=None)


def expire(now: datetime | None = None) -> int:
    return sum(step.conversations for step in conversations_expire(now))


def left(cast: Cast) -> set[uuid.UUID]:
    rows = Conversation.objects.for_team(cast.team.id)
    return set(rows.values_list("id", flat=True))


def newest_entry(cast: Cast) -> dict[str, Any]:
    entry = Entry.objects.for_team(cast.team.id).latest("seq")
    found: dict[str, Any] = orjson.loads(bytes(entry.canonical))
    return found


def test_g13_conversations_without_a_turn_go_and_their_runs_stay(cast):
    old = begun(cast, cast.bob, name="Plans")
    empty = conversation_create(team_id=cast.team.id, owner=user_actor(cast.bob, {}))
    rule(cast)
    assert expire(later(29)) == 0
    assert expire(later(31)) == 2
    assert left(cast) == set()
    assert Run.objects.for_team(cast.team.id).count() == 1
    entry = newest_entry(cast)
    assert (entry["action"], entry["actor"]["type"]) == (
        "conversations.deleted",
        "service",
    )
    assert entry["data"]["count"] == 2
    assert set(entry["data"]["ids"]) == {str(old.id), str(empty.id)}
    assert entry["data"]["reason"] == "no turn for 30 days"
    assert "Plans" not in str(entry)


def test_a_conversation_that_is_used_stays(cast):
    with time_machine.travel(timezone.now() - timedelta(days=40), tick=False):
        old = begun(cast, cast.bob)
    new = begun(cast, cast.bob)
    rule(cast)
    assert expire() == 1
    assert left(cast) == {new.id} != {old.id}


@pytest.mark.parametrize(("keeps_pinned", "stay"), [(True, 1), (False, 0)])
def test_pinned_ones_stay_if_so_chosen(cast, keeps_pinned, stay):
    conversation_change(begun(cast, cast.bob), {"is_pinned": True})
    begun(cast, cast.bob)
    rule(cast, keeps_pinned=keeps_pinned)
    expire(later(31))
    assert len(left(cast)) == stay


def test_g13_a_conversation_with_a_run_on_hold_stays(cast):
    held, free = begun(cast, cast.bob), begun(cast, cast.bob)
    run_id = held.turns.get().run_id
    hold_place(team=cast.team, run_id=run_id, reason="Matter 7", actor=ACTOR)
    rule(cast)
    assert expire(later(31)) == 1
    assert left(cast) == {held.id} != {free.id}


def test_g13_all_stay_while_the_team_is_on_hold(cast):
    begun(cast, cast.bob)
    hold_place(team=cast.team, run_id=None, reason="Matter 7", actor=ACTOR)
    rule(cast)
    assert expire(later(31)) == 0


def test_those_of_a_removed_member_go_as_well(cast):
    begun(cast, cast.bob)
    member_remove(team=cast.team, user=cast.bob, actor=ACTOR)
    rule(cast)
    assert expire(later(31)) == 1


def test_nothing_is_deleted_unless_a_team_said_so_and_other_teams_keep_theirs(cast):
    begun(cast, cast.bob)
    assert expire(later(9_000)) == 0
    idle_rule_set(team=cast.other_team, days=7, keeps_pinned=False, actor=ACTOR)
    assert expire(later(9_000)) == 0


def test_g13_a_stricter_rule_begins_after_a_week(cast):
    with time_machine.travel(timezone.now() - timedelta(days=40), tick=False):
        begun(cast, cast.bob)
    idle_rule_set(team=cast.team, days=30, keeps_pinned=True, actor=ACTOR)
    assert expire(later(6)) == 0
    assert expire(later(8)) == 1


def test_a_milder_rule_does_not_pause(cast):
    rule(cast, 30)
    row = idle_rule_set(team=cast.team, days=60, keeps_pinned=True, actor=ACTOR)
    assert row.conversations_begin_at is None
    assert newest_entry(cast)["data"] == {
        "before": {"conversation_days": 30},
        "after": {"conversation_days": 60},
    }


@pytest.mark.parametrize("days", [6, 2_558, "30", True])
def test_bad_number_of_days_is_refused(cast, days):
    with pytest.raises(InvalidFields):
        idle_rule_set(team=cast.team, days=days, keeps_pinned=True, actor=ACTOR)


def test_many_are_deleted_in_steps(cast, monkeypatch):
    monkeypatch.setattr("apps.governance.retention_job.CONVERSATIONS_AT_ONCE", 2)
    for _ in range(5):
        begun(cast, cast.bob)
    rule(cast)
    steps = [step.conversations for step in conversations_expire(later(31))]
    assert steps == [2, 2, 1]


def test_the_command_deletes_them_too(cast, capsys):
    rule(cast, 7)
    with time_machine.travel(timezone.now() - timedelta(days=8), tick=False):
        begun(cast, cast.bob)
    call_command("retention_erase")
    assert "1 conversations are deleted" in capsys.readouterr().out


# --- the page ------------------------------------------------------------------------


def test_the_page_says_how_many_before_the_rule_is_saved(cast):
    with time_machine.travel(timezone.now() - timedelta(days=40), tick=False):
        begun(cast, cast.bob)
    alice = member(cast.alice).client
    assert "Conversations stay until" in alice.get(PAGE).content.decode()
    sent = {"days": "30", "keeps_pinned": "on"}
    page = alice.post(EDIT, sent).content.decode()
    assert "<strong>1 conversation</strong> would be deleted" in page
    assert not Retention.objects.for_team(cast.team.id).exists()
    counted = re.search(r'name="counted" value="([^"]*)"', page)
    assert counted
    saved = alice.post(EDIT, {**sent, "counted": counted[1]}, follow=True)
    page = saved.content.decode()
    assert "After 30 days without a turn" in page
    assert "Deleting pauses" in page


def test_another_choice_than_the_one_counted_is_counted_again(cast):
    alice = member(cast.alice).client
    page = alice.post(EDIT, {"days": "30", "counted": "60 False"}).content.decode()
    assert "<strong>0 conversations</strong> would be deleted" in page


def test_the_rule_is_switched_off_at_once(cast):
    rule(cast)
    alice = member(cast.alice).client
    page = alice.post(EDIT, {"days": ""}, follow=True).content.decode()
    assert "Conversations stay until" in page


def test_bad_days_show_their_error_and_only_owners_get_there(cast):
    page = member(cast.alice).client.post(EDIT, {"days": "3"}).content.decode()
    assert "Write 7 or more, or nothing." in page
    assert member(cast.bob).client.post(EDIT, {"days": "30"}).status_code == 403


# --- REST ----------------------------------------------------------------------------


def test_rest_counts_first_and_sets_the_rule(cast):
    with time_machine.travel(timezone.now() - timedelta(days=40), tick=False):
        conversation_change(begun(cast, cast.bob), {"is_pinned": True})
        begun(cast, cast.bob)
    alice = member(cast.alice)
    count = alice.get("retention/conversations/?days=30").json()
    assert count == {"count": 1}
    every = alice.get("retention/conversations/?days=30&keeps_pinned=false").json()
    assert every == {"count": 2}
    body = {"conversation_days": 30, "keeps_pinned": False}
    answer = alice.patch("retention/", body).json()
    assert (answer["conversation_days"], answer["keeps_pinned"]) == (30, False)
    assert answer["conversations_begin_at"] is not None
    assert answer["days"] is None
    answer = alice.patch("retention/", {"keeps_pinned": True}).json()
    assert (answer["conversation_days"], answer["keeps_pinned"]) == (30, True)
    off = alice.patch("retention/", {"conversation_days": None}).json()
    assert off["conversation_days"] is None


@pytest.mark.parametrize("body", [{}, {"conversation_days": 6}, {"keeps_pinned": 1}])
def test_rest_refuses_bad_rules(cast, body):
    fault(member(cast.alice).patch("retention/", body), 400)
    fault(member(cast.alice).get("retention/conversations/?days=6"), 400)


def test_rest_members_may_count_and_not_set(cast):
    bob = member(cast.bob)
    assert bob.get("retention/conversations/?days=30").status_code == 200
    fault(bob.patch("retention/", {"conversation_days": 30}), 403)
