"""The ledger over REST: filters, cursors, and its state."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import Scope
from apps.accounts.services import member_change_role
from apps.audit.browsing import search
from tests.audit.examples import append, draft
from tests.factories import ACTOR, issue_key

LEDGER, STATUS = "/api/v1/ledger/", "/api/v1/ledger/status/"


def keyed(team, *scopes):
    key = issue_key(team, scopes=scopes)
    return Client(headers={"authorization": f"Bearer {key.secret}"})


@pytest.fixture
def program(cast):
    return keyed(cast.team, Scope.AUDIT_READ)


@pytest.fixture
def changes(cast):
    member_change_role(team=cast.team, user=cast.bob, role="admin", actor=ACTOR)
    bodies = {"prompt": "Secret plan"}
    append(cast.team.id, *[draft("step.completed", bodies=bodies)] * 7)


def test_entry_tells_what_changed_and_not_its_texts(program, cast, changes):
    answer = program.get(LEDGER, {"subject_id": str(cast.bob.id)})
    (entry,) = answer.json()["data"]
    assert entry["action"] == "member.changed"
    assert entry["data"]["after"] == {"role": "admin"}
    assert entry["actor"]["display"] == ACTOR.display
    newest = program.get(LEDGER, {"limit": 1}).json()["data"][0]
    assert newest["bodies"] == {"prompt": len("Secret plan")}
    assert "Secret plan" not in program.get(LEDGER).content.decode()


def test_cursor_leads_to_every_entry_once(program, changes):
    seqs, cursor = [], None
    while True:
        asked = {"limit": 3, **({"cursor": cursor} if cursor else {})}
        page = program.get(LEDGER, asked).json()
        seqs += [entry["seq"] for entry in page["data"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seqs == list(range(seqs[0], 0, -1))


def test_search_that_is_cut_has_a_cursor_and_no_entries(program, changes, monkeypatch):
    monkeypatch.setattr(search, "SEARCHED", 5)
    asked = {"query": "ADMIN", "limit": 2}
    page = program.get(LEDGER, asked).json()
    assert page["data"] == []
    asked["cursor"] = page["next_cursor"]
    (entry,) = program.get(LEDGER, asked).json()["data"]
    assert entry["action"] == "member.changed"


@pytest.mark.parametrize(
    "asked",
    [
        {"outcome": "good"},
        {"subject_id": "7"},
        {"since": "yesterday"},
        {"cursor": "cDc"},
        {"only": "all"},
        {"colour": "red"},
    ],
)
def test_what_is_not_understood_is_refused(program, asked):
    assert program.get(LEDGER, asked).status_code == 400


def test_other_scopes_and_other_teams_read_nothing(cast, changes):
    others = [scope for scope in Scope if scope != Scope.AUDIT_READ]
    assert keyed(cast.team, *others).get(LEDGER).status_code == 403
    foreign = keyed(cast.other_team, Scope.AUDIT_READ)
    found = foreign.get(LEDGER, {"subject_id": str(cast.bob.id)}).json()
    assert found == {"data": [], "next_cursor": None}


def test_state_tells_length_checkpoint_and_verification(program, changes):
    told = program.get(STATUS).json()
    assert told["entries"] >= 8
    assert (told["checkpoint"], told["last_check"]) == (None, None)
    assert told["check"] == {"state": "idle", "percent": 0}


def test_person_asks_for_a_verification_and_a_key_does_not(cast, program, changes):
    assert program.post(STATUS).status_code == 403
    alice = Client()
    alice.force_login(cast.alice)
    answer = alice.post(STATUS)
    assert (answer.status_code, answer.json()["check"]["state"]) == (202, "waiting")
    assert alice.post(STATUS).status_code == 409
