from __future__ import annotations

import uuid

import pytest
from django.db import transaction

from apps.audit import checking, services, verify
from apps.audit.chain import FaultKind
from apps.audit.models import Content
from apps.audit.selectors import entry_list
from apps.audit.services import CONTENT_ERASED, content_erase
from apps.audit.types import Erasure, WrittenEntry
from apps.audit.verify import verify_subject, verify_team
from tests.audit.examples import (
    ALICE,
    RUN,
    append,
    chain_of,
    digest_at,
    draft,
    execute,
    place,
)

pytestmark = pytest.mark.django_db(transaction=True)


def places_of(team_id: uuid.UUID) -> list[tuple[int, str]]:
    contents = Content.objects.for_team(team_id)
    return sorted(contents.values_list("seq", "name"))


def erase(team_id: uuid.UUID, *places: tuple[int, str]) -> Erasure:
    return content_erase(
        team_id=team_id, places=places, actor=ALICE, reason="asked for by the person"
    )


def test_text_and_salt_are_gone(team: uuid.UUID) -> None:
    append(team, draft(bodies={"prompt": "private"}))
    erase(team, *places_of(team))
    content = Content.objects.for_team(team).get()
    assert (content.salt, content.sealed) == (None, None)
    assert entry_list(team)[0].bodies == {"prompt": None}


def test_erasure_is_recorded(team: uuid.UUID) -> None:
    append(team, draft(bodies={"prompt": "private"}))
    written = erase(team, *places_of(team))
    entry = entry_list(team)[1]
    assert written == Erasure(1, (WrittenEntry(2, entry.recorded_at),))
    assert (entry.action, entry.actor) == (CONTENT_ERASED, ALICE)
    assert entry.data == {
        "bodies": [{"seq": 1, "name": "prompt", "digest": digest_at(team, 1)}],
        "reason": "asked for by the person",
    }


def test_only_the_named_text_goes(team: uuid.UUID) -> None:
    append(team, draft(bodies={"a": "x", "b": "y"}), draft(bodies={"a": "z"}))
    erase(team, (1, "b"), (1, "c"), (2, "b"), (7, "a"))
    assert [e.bodies for e in entry_list(team)[:2]] == [
        {"a": "x", "b": None},
        {"a": "z"},
    ]
    assert [body["seq"] for body in entry_list(team)[2].data["bodies"]] == [1]
    assert verify_team(team).is_intact


def test_erasure_covers_no_other_text(team: uuid.UUID) -> None:
    append(team, draft(bodies={"a": "x", "b": "y"}), draft(bodies={"a": "z"}))
    erase(team, (1, "a"))
    execute("DELETE FROM audit_content WHERE team_id = %s AND seq = 2", team)
    assert place(team) == (2, FaultKind.CONTENT_MISSING)
    execute("DELETE FROM audit_content WHERE team_id = %s", team)
    assert place(team) == (1, FaultKind.CONTENT_MISSING)


def test_record_of_an_erasure_made_from_another_entry_covers_nothing() -> None:
    team_id = chain_of(4)
    execute("DELETE FROM audit_content WHERE team_id = %s AND seq = 1", team_id)
    execute(
        "UPDATE audit_entry SET action = %s WHERE team_id = %s AND seq > 2",
        CONTENT_ERASED,
        team_id,
    )
    execute(
        "UPDATE audit_entry SET canonical = %s WHERE team_id = %s AND seq = 4",
        b"[",
        team_id,
    )
    assert place(team_id) == (1, FaultKind.CONTENT_MISSING)


def test_chain_stays_verifiable() -> None:
    team_id = chain_of(20)
    erase(team_id, *places_of(team_id)[:8])
    report = verify_team(team_id)
    assert (report.fault, report.bodies, report.erased) == (None, 12, 8)
    assert verify_subject(team_id, RUN).is_intact


def test_many_are_recorded_and_verified_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(services, "BODIES_PER_ENTRY", 3)
    monkeypatch.setattr(checking, "MAX_MISSING", 2)
    monkeypatch.setattr(verify, "PAGE", 4)
    team_id = chain_of(20)
    assert [w.seq for w in erase(team_id, *places_of(team_id)[:10]).entries] == [
        21,
        22,
        23,
        24,
    ]
    assert verify_team(team_id).erased == 10
    assert place(team_id) is None


def test_erased_row_may_be_deleted_altogether() -> None:
    team_id = chain_of(2)
    erase(team_id, *places_of(team_id))
    execute("DELETE FROM audit_content WHERE team_id = %s", team_id)
    assert place(team_id) is None


def test_second_erasure_of_the_same_text_writes_nothing() -> None:
    team_id = chain_of(1)
    erase(team_id, *places_of(team_id))
    assert erase(team_id, *places_of(team_id)) == Erasure(0, ())
    assert verify_team(team_id).entries == 2


def test_other_teams_text_is_out_of_reach(team: uuid.UUID) -> None:
    owner = chain_of(1)
    assert erase(team, *places_of(owner)) == Erasure(0, ())
    assert entry_list(owner)[0].bodies == {"text": "text 1"}


def test_rollback_brings_the_text_back() -> None:
    team_id = chain_of(1)
    with transaction.atomic():
        erase(team_id, *places_of(team_id))
        transaction.set_rollback(True)
    assert entry_list(team_id)[0].bodies == {"text": "text 1"}
