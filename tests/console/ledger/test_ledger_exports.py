"""Exports of the ledger: requested on a page, made by a process, downloaded."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from base64 import b64decode
from datetime import timedelta
from hashlib import sha256

import pytest
from django.utils import timezone

from apps.audit import chain, jobs
from apps.audit.checkpoints.notes import note_key_id
from apps.audit.exports import filters, parts
from apps.audit.exports.jobs import (
    MAX_KEPT,
    UNREADABLE,
    export_take,
    exports_expire,
)
from apps.audit.jobs import DEAD_AFTER, JobThread
from apps.audit.models import Content, LedgerExport, LedgerExportPart
from apps.audit.selectors import entry_list
from apps.audit.services import content_erase
from apps.audit.signing import own_public_keys
from apps.audit.types import SERVICE, Actor
from apps.core.errors import SecretUnreadable
from tests.audit.examples import append, draft
from tests.console.conftest import text_of
from tests.patience import eventually

PAGE = "/ledger/exports/"
JSONL, CSV = {"format": "jsonl"}, {"format": "csv"}


@pytest.fixture
def thread(transactional_db):
    """The thread of a serving process; it looks when the test says so."""
    return JobThread("ledger-exports", export_take)


def row_of(team):
    return LedgerExport.objects.for_team(team.id).get()


def archive_of(browser, export):
    """Return the files of an export by name, as a browser downloads them."""
    answer = browser.post(f"{PAGE}{export.id}/file/")
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content)
    assert answer["Content-Length"] == str(len(content))
    assert answer["Content-Disposition"].endswith(f'"ledger-{export.id}.zip"')
    assert sha256(content).hexdigest() == export.sha256
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def exported(browser, team, thread, query="", **form):
    """Return the files of an export that a person requests."""
    answer = browser.post(f"{PAGE}{query}", form or JSONL)
    assert answer.status_code == 302
    thread.look()
    export = row_of(team)
    assert export.error == ""
    return archive_of(browser, export)


def taken():
    """Return the steps of the export that a process has taken."""
    steps = export_take()
    assert steps is not None
    return steps


def lines_of(files):
    return [json.loads(line) for line in files["entries.jsonl"].splitlines()]


def test_hashes_follow_from_the_bytes_in_the_file(alice, changes, thread):
    entries = entry_list(changes.team.id)
    files = exported(alice, changes.team, thread)
    assert [line["hash"] for line in lines_of(files)] == [e.hash for e in entries]
    previous = chain.GENESIS
    for raw in files["entries.jsonl"].splitlines():
        line = json.loads(raw)
        start = raw.index(b'"entry":') + len(b'"entry":')
        canonical = raw[start:-1]
        derived = chain.entry_hash(changes.team.id, line["seq"], previous, canonical)
        assert chain.tagged(derived) == line["hash"]
        previous = derived


def test_manifest_is_signed_and_names_what_the_file_holds(alice, changes, thread):
    files = exported(alice, changes.team, thread, "?action=api_key.*")
    text, _, signatures = files["manifest.txt"].decode().partition("\n\n")
    lines = f"{text}\n".splitlines()
    assert lines[0] == f"conductor/ledger-export/{changes.team.id}"
    assert 'filter {"action":"api_key.*"}' in lines
    assert "entries 2" in lines
    assert "texts no" in lines
    for name in set(files) - {"manifest.txt"}:
        assert f"file {sha256(files[name]).hexdigest()} {name}" in lines
    signature = b64decode(signatures.split()[-1])
    (key,) = own_public_keys().values()
    assert signature[:4] == note_key_id(lines[0], key)
    key.verify(signature[4:], f"{text}\n".encode())


def test_texts_leave_only_if_they_are_wanted(alice, cast, thread):
    append(cast.team.id, draft(bodies={"prompt": "Plan B", "answer": "Soon"}))
    erased = append(cast.team.id, draft(bodies={"prompt": "Forgotten"}))
    seq = entry_list(cast.team.id)[-1].seq
    content_erase(
        team_id=cast.team.id, places=[(seq, "prompt")], actor=SERVICE, reason="due"
    )
    del erased
    plain = exported(alice, cast.team, thread)["entries.jsonl"]
    assert b"Plan B" not in plain
    assert b'"texts"' not in plain
    row_of(cast.team).delete()
    lines = lines_of(exported(alice, cast.team, thread, **JSONL, texts="on"))
    texts = {line["seq"]: line["texts"] for line in lines}
    prompt = texts[seq - 1]["prompt"]
    assert prompt["text"] == "Plan B"
    digest = chain.body_digest(bytes.fromhex(prompt["salt"]), b"Plan B")
    of_entry = next(x["entry"] for x in lines if x["seq"] == seq - 1)
    assert of_entry["bodies"]["prompt"]["digest"] == chain.tagged(digest)
    assert texts[seq]["prompt"] == {"salt": None, "text": None}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "＝"])
def test_no_cell_of_a_sheet_is_a_formula(alice, cast, thread, start):
    name = f'{start}cmd|" /C calc"!A0'
    mallory = Actor("user", "1", name)
    append(cast.team.id, draft(data={"note": f'{start}1+1"'})._replace(actor=mallory))
    files = exported(alice, cast.team, thread, **CSV)
    text = files["entries.csv"].decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows[-1]["actor"] == f"'{name}"
    assert json.loads(rows[-1]["facts"]) == {"note": f'{start}1+1"'}
    starts = {cell[:1] for row in rows for cell in row.values()}
    assert not starts & set("=+-@\t\r\n＝")


def test_sheet_has_a_row_for_each_entry(alice, changes, thread):
    append(changes.team.id, draft(bodies={"prompt": "a,\nb"}))
    entries = entry_list(changes.team.id)
    files = exported(alice, changes.team, thread, **CSV, texts="on")
    rows = list(csv.DictReader(io.StringIO(files["entries.csv"].decode(), newline="")))
    assert [(row["seq"], row["action"]) for row in rows] == [
        (str(entry.seq), entry.action) for entry in entries
    ]
    assert json.loads(rows[-1]["texts"]) == {"prompt": "a,\nb"}
    assert rows[0]["hash"] == entries[0].hash


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?action=member.changed", ["member.changed"]),
        ("?actor=alic&only=rare", ["member.changed", "api_key.revoked"]),
        ("?q=ADMIN", ["member.changed"]),
        ("?outcome=failure", []),
        ("?since=2999-01-01", []),
    ],
)
def test_filter_of_the_page_is_that_of_the_file(alice, changes, thread, query, found):
    page = text_of(alice.get(f"/ledger/{query}"))
    assert f'href="{PAGE}{query}"'.replace("&", "&amp;") in page
    lines = lines_of(exported(alice, changes.team, thread, query))
    assert [line["entry"]["action"] for line in lines] == found


def test_entries_of_a_data_class_are_found(alice, cast, thread):
    for name in ("public", "confidential", "restricted"):
        append(cast.team.id, draft("policy.decided", data={"data_class": name}))
    append(cast.team.id, draft(data={"note": '"data_class":"restricted"'}))
    query = "?data_class=confidential"
    page = text_of(alice.get(f"/ledger/{query}"))
    assert page.count("policy.decided</strong>") == 2
    lines = lines_of(exported(alice, cast.team, thread, query))
    classes = [line["entry"]["data"]["data_class"] for line in lines]
    assert classes == ["confidential", "restricted"]


def test_filter_that_is_not_understood_exports_nothing(alice, cast):
    answer = alice.post(f"{PAGE}?subject=nobody", JSONL)
    assert answer.status_code == 400
    assert "A filter in the address is not understood." in text_of(answer)
    assert not LedgerExport.objects.across_teams().exists()


def test_what_is_recorded_later_stays_out(alice, changes, thread):
    alice.post(PAGE, JSONL)
    append(changes.team.id, draft())
    thread.look()
    lines = lines_of(archive_of(alice, row_of(changes.team)))
    actions = [entry.action for entry in entry_list(changes.team.id)]
    at = actions.index("ledger_export.requested")
    assert [line["entry"]["action"] for line in lines] == actions[:at]


def test_request_download_and_deletion_are_recorded(alice, changes, thread):
    exported(alice, changes.team, thread, "?action=member.changed")
    export = row_of(changes.team)
    alice.post(f"{PAGE}{export.id}/delete/")
    assert not LedgerExportPart.objects.exists()
    found = [
        e for e in entry_list(changes.team.id) if e.action.startswith("ledger_export.")
    ]
    assert [entry.action.partition(".")[2] for entry in found] == [
        "requested",
        "completed",
        "downloaded",
        "deleted",
    ]
    assert {(e.actor.display, e.subject_id) for e in found} == {("Alice", export.id)}
    assert found[0].data["filter"] == {"action": "member.changed"}
    assert found[1].data["sha256"] == found[2].data["sha256"] == export.sha256
    assert found[1].data["entries"] == 1


def test_progress_is_shown_until_the_file_is_there(alice, cast, monkeypatch):
    monkeypatch.setattr(filters, "PAGE", 10)
    monkeypatch.setattr(jobs, "BEAT_S", 0.0)
    append(cast.team.id, *[draft()] * 39)
    assert "No exports yet" in text_of(alice.get(PAGE))
    alice.post(PAGE, JSONL)
    assert "Waiting for a process to begin" in text_of(alice.get(PAGE))
    steps = taken()
    next(steps)
    next(steps)
    page = text_of(alice.get(PAGE))
    assert "50 %, 20 entries" in page
    assert 'data-state="busy"' in page
    assert ">Download<" not in page
    list(steps)
    page = text_of(alice.get(PAGE))
    assert 'data-state="idle"' in page
    assert ">Download<" in page
    assert "Requested by <bdi>Alice</bdi>" in page


def test_export_of_a_dead_process_is_made_again(alice, cast, thread, monkeypatch):
    monkeypatch.setattr(filters, "PAGE", 10)
    monkeypatch.setattr(parts, "PART_BYTES", 64)
    monkeypatch.setattr(jobs, "BEAT_S", 0.0)
    append(cast.team.id, *[draft()] * 30)
    alice.post(PAGE, JSONL)
    dead = taken()
    next(dead)
    LedgerExport.objects.across_teams().update(beat_at=timezone.now() - 2 * DEAD_AFTER)
    assert "Interrupted" in text_of(alice.get(PAGE))
    thread.look()
    made = row_of(cast.team)
    # It was slow, not dead: what it writes now counts no more.
    list(dead)
    assert row_of(cast.team).sha256 == made.sha256
    assert len(lines_of(archive_of(alice, made))) == made.entries == made.through_seq
    actions = [entry.action for entry in entry_list(cast.team.id)]
    assert actions.count("ledger_export.completed") == 1


def test_process_that_ends_gives_its_export_to_another(alice, cast, thread):
    append(cast.team.id, draft())
    alice.post(PAGE, JSONL)
    steps = taken()
    next(steps)
    steps.close()
    assert row_of(cast.team).state == "waiting"
    thread.look()
    assert row_of(cast.team).sha256


def test_export_that_is_cancelled_leaves_nothing(alice, cast, monkeypatch):
    monkeypatch.setattr(filters, "PAGE", 10)
    monkeypatch.setattr(parts, "PART_BYTES", 64)
    append(cast.team.id, *[draft()] * 30)
    alice.post(PAGE, JSONL)
    steps = taken()
    next(steps)
    assert ">Cancel<" in text_of(alice.get(PAGE))
    alice.post(f"{PAGE}{row_of(cast.team).id}/delete/")
    list(steps)
    assert not LedgerExport.objects.across_teams().exists()
    assert not LedgerExportPart.objects.exists()


def test_text_that_does_not_open_ends_the_export_by_name(alice, cast, thread):
    append(cast.team.id, draft(bodies={"prompt": "x"}))
    Content.objects.for_team(cast.team.id).update(sealed=b"broken")
    alice.post(PAGE, {**JSONL, "texts": "on"})
    thread.look()
    export = row_of(cast.team)
    assert export.error == UNREADABLE
    assert "cannot be decrypted; verify the ledger." in text_of(alice.get(PAGE))
    assert alice.post(f"{PAGE}{export.id}/file/").status_code == 409
    failed = text_of(alice.get("/ledger/?outcome=failure"))
    assert "ledger_export.completed</strong>" in failed


def test_file_is_encrypted_and_bound_to_its_place(alice, cast, thread, monkeypatch):
    monkeypatch.setattr(parts, "PART_BYTES", 512)
    append(cast.team.id, draft(data={"note": "canary"}))
    exported(alice, cast.team, thread)
    pieces = list(LedgerExportPart.objects.order_by("index"))
    assert len(pieces) > 1
    assert all(b"canary" not in bytes(piece.sealed) for piece in pieces)
    first, second = pieces[0].sealed, pieces[1].sealed
    LedgerExportPart.objects.filter(id=pieces[0].id).update(sealed=second)
    LedgerExportPart.objects.filter(id=pieces[1].id).update(sealed=first)
    answer = alice.post(f"{PAGE}{row_of(cast.team).id}/file/")
    with pytest.raises(SecretUnreadable, match="does not open"):
        b"".join(answer.streaming_content)


def test_file_expires(alice, cast, thread):
    append(cast.team.id, draft())
    exported(alice, cast.team, thread)
    export = row_of(cast.team)
    late = export.expires_at
    assert list(exports_expire(late - timedelta(seconds=1))) == []
    LedgerExport.objects.across_teams().update(expires_at=timezone.now())
    assert "; expired" in text_of(alice.get(PAGE))
    assert alice.post(f"{PAGE}{export.id}/file/").status_code == 404
    assert list(exports_expire(late)) == [1]
    assert not LedgerExportPart.objects.exists()


def test_team_has_so_many_exports_at_most(alice, cast):
    append(cast.team.id, draft())
    for _ in range(MAX_KEPT):
        assert alice.post(PAGE, CSV).status_code == 302
    answer = alice.post(PAGE, CSV)
    assert answer.status_code == 400
    assert f"A team has {MAX_KEPT} exports at most" in text_of(answer)


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_members_and_viewers_export_nothing(request, cast, who):
    browser = request.getfixturevalue(who)
    assert browser.get(PAGE).status_code == 403
    assert browser.post(PAGE, JSONL).status_code == 403


def test_g15_other_team_reaches_no_export(alice, mallory, cast, thread):
    append(cast.team.id, draft())
    exported(alice, cast.team, thread)
    export = row_of(cast.team)
    for action in ("file", "delete"):
        assert mallory.post(f"{PAGE}{export.id}/{action}/").status_code == 404
    assert row_of(cast.team) == export


def test_serving_process_makes_what_is_requested_there_at_once(
    alice, cast, monkeypatch
):
    monkeypatch.setattr(jobs, "LOOK_S", 3600.0)
    append(cast.team.id, draft())
    one = JobThread("ledger-exports", export_take).start()
    alice.post(PAGE, JSONL)
    assert eventually(lambda: row_of(cast.team).sha256)
    one.close()
