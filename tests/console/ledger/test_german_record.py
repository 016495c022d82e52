"""Ledger, policy and reviews in German; what is on record stays English."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from django.test import Client

from apps.accounts.models import Scope
from apps.audit.exports.jobs import export_take
from apps.audit.models import Entry
from apps.governance.models import ReviewItem
from apps.governance.services import review_reserve
from tests.audit.examples import append, draft
from tests.conftest import Cast
from tests.console.conftest import text_of
from tests.console.ledger.test_ledger_exports import archive_of, row_of
from tests.factories import MembershipFactory, UserFactory, issue_key
from tests.governance.reviews.conftest import principal
from tests.rest.things import make_review

ENGLISH: Mapping[str, str] = {"Accept-Language": "en"}
GERMAN: Mapping[str, str] = {"Accept-Language": "de"}
LEDGER = "/api/v1/ledger/"


def german(browser: Client, address: str) -> str:
    return text_of(browser.get(address, headers=GERMAN))


def denied(cast: Cast) -> int:
    """Record a decision; return its number."""
    reason = "Rule 'Contracts' says: deny it"
    entry = draft("policy.decided", data={"reason": reason, "is_denied": True})
    (seq,) = append(cast.team.id, entry)
    return seq


def canonical(cast: Cast, seq: int) -> bytes:
    return bytes(Entry.objects.for_team(cast.team.id).get(seq=seq).canonical)


@pytest.mark.release
def test_ledger_is_german_and_its_facts_are_as_recorded(alice, cast):
    seq = denied(cast)
    page = german(alice, "/ledger/")
    assert "Jetzt verifizieren" in page and "Verify now" not in page
    assert '<strong lang="en">policy.decided</strong>' in page
    entry = german(alice, f"/ledger/{seq}/")
    assert "Dieser Eintrag passt an seinen Platz in der Kette" in entry
    assert "<dt>Ausgang</dt><dd>Erfolg</dd>" in entry
    assert '<dt lang="en">Is denied</dt>' in entry
    assert "Rule &#x27;Contracts&#x27; says: deny it" in entry


def test_stored_entry_is_the_same_for_every_language(alice, cast):
    seq = denied(cast)
    stored = canonical(cast, seq)
    german(alice, f"/ledger/{seq}/")
    key = issue_key(cast.team, scopes=(Scope.AUDIT_READ,))
    program = Client(headers={"authorization": f"Bearer {key.secret}"})
    answers = [
        program.get(f"{LEDGER}?limit=1&action=policy.decided", headers=each)
        for each in (ENGLISH, GERMAN)
    ]
    assert answers[0].content == answers[1].content
    (entry,) = answers[1].json()["data"]
    assert (entry["action"], entry["outcome"]) == ("policy.decided", "success")
    assert entry["data"]["reason"] == "Rule 'Contracts' says: deny it"
    assert canonical(cast, seq) == stored
    assert json.loads(stored)["action"] == "policy.decided"


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_export_that_is_asked_for_in_german_is_english(alice, cast, form):
    seq = denied(cast)
    alice.post("/ledger/exports/", {"format": form}, headers=GERMAN)
    for _ in export_take() or ():
        pass
    files = archive_of(alice, row_of(cast.team))
    text = b"".join(files.values()).decode()
    reason = json.loads(canonical(cast, seq))["data"]["reason"]
    assert "policy.decided" in text and "success" in text and reason in text
    for word in ("Erfolg", "Ausgang", "Richtlinie", "Eintrag"):
        assert word not in text


@pytest.mark.release
def test_policy_is_german_also_for_those_who_only_read_it(alice, vera):
    assert "Regel hinzufügen" in german(alice, "/policy/")
    page = german(vera, "/policy/")
    assert "Wenn Sie die Richtlinie ändern möchten" in page
    assert "change the policy" not in page


@pytest.mark.release
def test_review_says_in_german_why_it_is_not_yours(alice, rita, cast):
    item = ReviewItem.objects.for_team(cast.team.id).get(id=make_review(cast))
    own = german(alice, f"/review/{item.id}/")
    assert "Das ist Ihr eigener Lauf, deshalb muss ihn jemand anders prüfen." in own
    assert "Reservieren" in german(rita, f"/review/{item.id}/")
    adam = UserFactory.create(email="adam@example.org", name="Adam")
    MembershipFactory.create(team=cast.team, user=adam, role="admin")
    review_reserve(item=item, principal=principal(cast.team, adam))
    assert "hat diese Prüfung bis" in german(rita, f"/review/{item.id}/")
    english = text_of(rita.get(f"/review/{item.id}/", headers=ENGLISH))
    assert "has reserved this review until" in english
