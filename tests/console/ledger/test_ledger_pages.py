"""The pages of the ledger: who may see them, what filters find, one entry."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from apps.audit.browsing import search
from apps.audit.services import content_erase
from apps.audit.types import SERVICE, Actor
from tests.audit.examples import append, draft, execute
from tests.console.conftest import text_of
from tests.console.ledger.conftest import RUN

PAGE = "/ledger/"


def shown(browser, query=""):
    """Return the places and actions of the entries on a page."""
    page = text_of(browser.get(f"{PAGE}{query}"))
    found = re.findall(r'href="/ledger/(\d+)/"><strong>([^<]+)<', page)
    return [(int(seq), action) for seq, action in found]


def actions_on(browser, query=""):
    return [action for _, action in shown(browser, query)]


def address_of(page, words):
    found = re.search(rf'href="([^"]*)"[^>]*>{words}<', page)
    assert found, words
    return found[1].replace("&amp;", "&")


@pytest.mark.parametrize("who", ["alice", "ada", "rita"])
def test_owner_admin_and_reviewer_read_it(request, changes, who):
    browser = request.getfixturevalue(who)
    assert "api_key.revoked" in actions_on(browser)
    assert 'href="/ledger/"' in text_of(browser.get("/members/"))


@pytest.mark.parametrize("who", ["bob", "vera"])
@pytest.mark.parametrize("address", ["", "1/", "status/"])
def test_member_and_viewer_do_not(request, cast, who, address):
    browser = request.getfixturevalue(who)
    assert browser.get(f"{PAGE}{address}").status_code == 403
    assert 'href="/ledger/"' not in text_of(browser.get("/members/"))


def test_other_team_sees_its_own_ledger_alone(mallory, changes):
    assert shown(mallory) == []
    assert "No entries yet" in text_of(mallory.get(PAGE))
    assert shown(mallory, f"?subject={changes.bob.id}") == []
    assert mallory.get(f"{PAGE}1/").status_code == 404


def test_newest_comes_first(alice, changes):
    seqs = [seq for seq, _ in shown(alice)]
    assert len(seqs) > 5
    assert seqs == sorted(seqs, reverse=True)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?action=member.changed", ["member.changed"]),
        ("?action=api_key.*&only=rare", ["api_key.revoked", "api_key.issued"]),
        ("?action=step.*", ["step.completed"] * 5),
        ("?action=nothing.known", []),
        ("?action=nothing.*", []),
        ("?only=rare&q=ADMIN", ["member.changed"]),
        ("?q=sha256", []),
        ("?outcome=failure", []),
        ("?outcome=success&action=member.changed", ["member.changed"]),
        ("?actor=alic&only=rare", ["api_key.revoked", "member.changed"]),
    ],
)
def test_filter_leaves_the_rest_out(alice, changes, query, found):
    assert actions_on(alice, query) == found


def test_words_with_quotes_and_other_letters_are_found(alice, cast):
    append(cast.team.id, draft(data={"note": 'says "Übung"'}))
    assert actions_on(alice, "?q=says+%22%C3%BCbung") == ["run.created"]


def test_everything_about_a_member_and_by_a_member(alice, changes):
    bob, owner = changes.bob.id, changes.alice.id
    assert actions_on(alice, f"?subject={bob}") == ["member.changed"]
    by_alice = actions_on(alice, f"?actor={owner}&only=rare")
    assert by_alice == ["api_key.revoked", "member.changed"]
    page = text_of(alice.get(f"{PAGE}?subject={bob}"))
    assert f"?actor={bob}&amp;only=rare" in page


def test_failed_entry_is_found_by_its_outcome(alice, cast):
    failed = draft("run.failed")._replace(outcome="failure")
    append(cast.team.id, draft(), failed, draft("step.completed"))
    assert actions_on(alice, "?outcome=failure") == ["run.failed"]
    assert actions_on(alice, "?action=run.failed") == ["run.failed"]


def test_period_is_found_without_looking_at_every_entry(alice, cast, monkeypatch):
    monkeypatch.setattr(search, "PROBES", 3)
    append(cast.team.id, *[draft("step.completed")] * 40)
    days = {seq: datetime(2026, 1, 1, 12, tzinfo=UTC) for seq in range(1, 60)}
    for seq in days:
        moment = days[seq] + timedelta(days=seq // 4)
        execute(
            "UPDATE audit_entry SET recorded_at = %s WHERE team_id = %s AND seq = %s",
            str(moment.replace(tzinfo=None)),
            cast.team.id,
            seq,
        )
    # Entries 8 to 11 are of 3 January, 12 to 15 of the 4th.
    seqs = [seq for seq, _ in shown(alice, "?since=2026-01-03&until=2026-01-04")]
    assert seqs == list(range(15, 7, -1))
    assert shown(alice, "?since=2027-01-01") == []
    assert shown(alice, "?until=2025-01-01") == []
    assert [seq for seq, _ in shown(alice, "?until=2026-01-01")] == [3, 2, 1]


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("?subject=nonsense", 'id="subject-error"'),
        ("?since=yesterday", 'id="since-error"'),
    ],
)
def test_what_is_not_understood_is_told(alice, changes, query, complaint):
    assert complaint in text_of(alice.get(f"{PAGE}{query}"))


def test_pages_lead_to_every_entry_once_and_back(alice, cast):
    append(cast.team.id, *[draft("step.completed")] * 130)
    seen, address = [], ""
    while True:
        page = text_of(alice.get(f"{PAGE}{address}"))
        seqs = [seq for seq, _ in shown(alice, address)]
        seen.append(seqs)
        if ">Older<" not in page:
            break
        address = address_of(page, "Older")
    flat = [seq for seqs in seen for seq in seqs]
    assert flat == list(range(flat[0], 0, -1))
    assert len(seen) == 3
    newer = address_of(page, "Newer")
    assert [seq for seq, _ in shown(alice, newer)] == seen[1]


def test_search_is_bounded_and_goes_on_where_it_ended(alice, cast, monkeypatch):
    monkeypatch.setattr(search, "SEARCHED", 60)
    append(cast.team.id, draft(data={"note": "Falcon"}))
    append(cast.team.id, *[draft("step.completed")] * 150)
    address, pages = "?q=falcon", 1
    while not shown(alice, address):
        page = text_of(alice.get(f"{PAGE}{address}"))
        assert "No match in" in page
        address = address_of(page, "Search further back")
        pages += 1
    assert [action for _, action in shown(alice, address)] == ["run.created"]
    assert pages == 3


def test_entry_shows_what_changed_and_that_it_fits(alice, changes):
    ((seq, _),) = shown(alice, "?action=member.changed")
    page = text_of(alice.get(f"{PAGE}{seq}/"))
    assert "<del>member</del> <ins>admin</ins>" in page
    assert "fits its place" in page
    assert f"?subject={changes.bob.id}" in page


def test_entry_that_was_changed_says_so(alice, changes):
    ((seq, _),) = shown(alice, "?action=member.changed")
    execute(
        "UPDATE audit_entry SET hash = %s WHERE team_id = %s AND seq = %s",
        "sha256:" + "0" * 64,
        changes.team.id,
        seq,
    )
    assert "not what was recorded" in text_of(alice.get(f"{PAGE}{seq}/"))


def test_entry_that_is_none_is_shown_as_such(alice, changes):
    ((seq, _),) = shown(alice, "?action=member.changed")
    execute(
        "UPDATE audit_entry SET canonical = %s WHERE team_id = %s AND seq = %s",
        b"\xff{nonsense",
        changes.team.id,
        seq,
    )
    assert "Not readable:" in text_of(alice.get(PAGE))
    assert "not an entry" in text_of(alice.get(f"{PAGE}{seq}/"))


def test_text_is_shown_or_said_to_be_erased_or_unreadable(alice, cast):
    bodies = {"comment": "Well done", "prompt": "Secret plan"}
    (seq,) = append(cast.team.id, draft("feedback.recorded", bodies=bodies))
    page = text_of(alice.get(f"{PAGE}{seq}/"))
    assert "Well done" in page
    content_erase(
        team_id=cast.team.id, places=[(seq, "prompt")], actor=SERVICE, reason="old"
    )
    execute(
        "UPDATE audit_content SET sealed = %s WHERE seq = %s AND name = 'comment'",
        b"x" * 60,
        seq,
    )
    page = text_of(alice.get(f"{PAGE}{seq}/"))
    assert "Prompt</span>: erased" in page
    assert "Comment</span>: not readable" in page
    assert "Secret plan" not in page


def test_names_are_escaped(alice, cast):
    evil = Actor("user", "1", "<script>alert(1)</script>")
    entry = draft("worker.tested", data={"name": "<b>x</b>"})._replace(actor=evil)
    (seq,) = append(cast.team.id, entry)
    for address in (PAGE, f"{PAGE}{seq}/", f"{PAGE}?q=%3Cb%3E"):
        page = text_of(alice.get(address))
        assert "<script>alert" not in page
        assert "<b>x" not in page


def test_things_lead_to_their_history(alice, ada, changes):
    assert f"/ledger/?subject={changes.bob.id}" in text_of(alice.get("/members/"))
    ended = text_of(alice.get("/keys/?state=ended"))
    assert f"/ledger/?subject={changes.key.row.id}" in ended


def test_number_of_queries_does_not_grow(alice, cast, recorded_queries):
    append(cast.team.id, *[draft("step.completed", subject_id=RUN)] * 120)
    with recorded_queries():
        alice.get(PAGE)
