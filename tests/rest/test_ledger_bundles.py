"""Exports of a filter that prove their entries, away from the site."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from apps.accounts.models import Scope
from apps.audit.bundles.verifier import BundleRefused, verify_bundle
from apps.audit.exports import bundle
from apps.audit.exports.jobs import export_take
from apps.audit.models import Entry, LedgerExport
from apps.audit.selectors import entry_list
from apps.audit.services import content_erase
from tests.audit.bundles.alone import verify_alone
from tests.audit.bundles.forging import unzipped, zipped
from tests.audit.examples import append, draft, execute
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.rest.test_ledger_exports import EXPORTS, keyed, order


def make(cast: Cast, form: str = "bundle", **values: Any) -> LedgerExport:
    """Order an export and make it."""
    program = keyed(cast.team, Scope.AUDIT_EXPORT)
    made = order(program, format=form, **values).json()
    list(export_take() or ())
    return LedgerExport.objects.for_team(cast.team.id).get(id=made["id"])


def file_of(cast: Cast, **values: Any) -> bytes:
    export = make(cast, **values)
    assert export.error == ""
    program = keyed(cast.team, Scope.AUDIT_EXPORT)
    answer: Any = program.get(f"{EXPORTS}{export.id}/file/")
    return b"".join(answer.streaming_content)


@pytest.fixture
def failures(cast: Cast) -> None:
    for number in range(5):
        append(cast.team.id, draft("run.failed", bodies={"prompt": f"Plan {number}"}))
        append(cast.team.id, draft("run.completed"))


@pytest.mark.usefixtures("failures")
def test_a_bundle_verifies_without_the_product(cast, tmp_path):
    content = file_of(cast, action="run.failed", texts=True)
    code, words = verify_alone(tmp_path, content)
    assert code == 0, words
    assert 'filter {"action":"run.failed"} of team' in words
    assert "5 entries, 5 texts, 0 erased" in words
    lines = unzipped(content)["entries.jsonl"].splitlines()
    assert {json.loads(line)["action"] for line in lines} == {"run.failed"}


@pytest.mark.usefixtures("failures")
def test_without_texts_it_has_none_and_says_so(cast, tmp_path):
    content = file_of(cast)
    code, words = verify_alone(tmp_path, content)
    assert code == 0, words
    assert "0 texts, 0 erased" in words
    files = unzipped(content)
    assert json.loads(files["bodies.json"]) == {"bodies": []}
    assert b"Plan 3" not in b"".join(files.values())
    assert b"\ntexts no\n" in files["manifest.txt"]
    found = verify_bundle(io.BytesIO(content), team=cast.team.id)
    assert found.entries == len(files["entries.jsonl"].splitlines())


@pytest.mark.usefixtures("failures")
def test_a_changed_copy_is_refused(cast):
    content = file_of(cast, texts=True)
    files = unzipped(content)
    for name in ("entries.jsonl", "bodies.json", "proofs.json", "manifest.txt"):
        data = files[name].replace(b"5", b"6", 1)
        assert data != files[name]
        forged = zipped({**files, name: data})
        with pytest.raises(BundleRefused):
            verify_bundle(io.BytesIO(forged))


@pytest.mark.usefixtures("failures")
def test_it_is_no_export_of_a_run_or_of_another_team(cast):
    content = io.BytesIO(file_of(cast))
    for wanted in ({"run": cast.team.id}, {"team": cast.other_team.id}):
        with pytest.raises(BundleRefused):
            verify_bundle(content, **wanted)


@pytest.mark.usefixtures("failures")
def test_pages_make_one_list(cast, monkeypatch):
    monkeypatch.setattr("apps.audit.exports.filters.PAGE", 3)
    content = file_of(cast, texts=True)
    found = verify_bundle(io.BytesIO(content))
    seqs = [
        row["seq"] for row in json.loads(unzipped(content)["proofs.json"])["entries"]
    ]
    assert seqs == sorted(set(seqs))
    assert found.entries == len(seqs) >= 10
    assert found.texts == 5


def rewrite(entry: Entry, canonical: bytes) -> None:
    """Change what is stored of an entry behind the ledger's back."""
    place = "team_id = %s AND seq = %s"
    sql = f"UPDATE audit_entry SET canonical = %s WHERE {place}"
    execute(sql, canonical, entry.team_id, entry.seq)


SAID = [b"{}", b'{"bodies":{}}', b'{"bodies":{"prompt":{}}}', b'{"bodies":[]}']
"""Valid JSON in the place of an entry."""


@pytest.mark.usefixtures("failures")
@pytest.mark.parametrize("said", SAID)
def test_what_is_no_entry_is_named_and_stays_out_of_proofs(cast, said):
    victim = Entry.objects.for_team(cast.team.id).filter(action="run.failed").first()
    assert victim is not None
    rewrite(victim, said)
    export = make(cast, action="run.failed", texts=True)
    named = f"entry {victim.seq} of team {cast.team.id} is not readable"
    assert named in export.error
    assert export.size == 0
    for form, count in (("jsonl", 5), ("csv", 5)):
        whole = make(cast, form, action="run.failed", texts=True)
        assert (whole.error, whole.entries) == ("", count)


@pytest.mark.usefixtures("failures")
def test_an_entry_that_was_tampered_with_is_not_exported(cast):
    victim = Entry.objects.for_team(cast.team.id).filter(action="run.failed").first()
    assert victim is not None
    forged = bytes(victim.canonical).replace(b"run.failed", b"run.fouled")
    rewrite(victim, forged)
    export = make(cast, action="run.failed")
    assert f"entry {victim.seq} is not what was signed" in export.error
    assert export.size == 0


@pytest.mark.usefixtures("failures")
def test_too_many_entries_are_refused_with_advice(cast, monkeypatch):
    monkeypatch.setattr(bundle, "MAX_ENTRIES", 3)
    export = make(cast)
    assert export.error.endswith("narrow the filter")
    entry = [e for e in entry_list(cast.team.id) if e.action.endswith("completed")][-1]
    assert entry.action == "ledger_export.completed"


@pytest.mark.usefixtures("failures")
def test_erased_texts_verify_as_erased(cast):
    first = Entry.objects.for_team(cast.team.id).filter(action="run.failed").first()
    assert first is not None
    content_erase(
        team_id=cast.team.id,
        places=[(first.seq, "prompt")],
        actor=ACTOR,
        reason="law",
    )
    found = verify_bundle(io.BytesIO(file_of(cast, action="run.failed", texts=True)))
    assert (found.texts, found.erased) == (4, 1)


@pytest.mark.usefixtures("failures")
def test_a_filter_that_finds_nothing_verifies_too(cast):
    content = file_of(cast, action="no.such")
    assert verify_bundle(io.BytesIO(content)).entries == 0
