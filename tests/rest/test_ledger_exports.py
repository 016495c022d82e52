"""Exports of the ledger over REST: ordered, watched, downloaded, deleted."""

from __future__ import annotations

import io
import json
import zipfile
from hashlib import sha256

import pytest
from django.test import Client

from apps.accounts.models import Scope
from apps.audit.exports.jobs import MAX_KEPT, export_take
from apps.audit.models import LedgerExport
from apps.audit.selectors import entry_list
from tests.audit.examples import append, draft
from tests.factories import issue_key

EXPORTS = "/api/v1/ledger/exports/"


def keyed(team, *scopes):
    key = issue_key(team, scopes=scopes)
    return Client(headers={"authorization": f"Bearer {key.secret}"})


@pytest.fixture
def program(cast):
    return keyed(cast.team, Scope.AUDIT_EXPORT)


def order(program, **values):
    body = {"format": "jsonl", **values}
    return program.post(EXPORTS, body, content_type="application/json")


def test_export_is_ordered_watched_downloaded_and_deleted(program, cast):
    append(cast.team.id, draft("run.failed", bodies={"prompt": "Plan B"}), draft())
    answer = order(program, action="run.failed", texts=True)
    assert answer.status_code == 202
    made = answer.json()
    assert made["state"] == "waiting"
    assert made["filter"] == {"action": "run.failed"}
    address = f"{EXPORTS}{made['id']}/"
    assert program.get(f"{address}file/").status_code == 409
    list(export_take() or ())
    made = program.get(address).json()
    assert made["state"] == "completed"
    assert made["progress"]["entries"] == 1
    assert made["progress"]["reached"] == made["progress"]["through"]
    assert program.get(EXPORTS).json()["data"] == [made]
    content = b"".join(program.get(f"{address}file/").streaming_content)
    assert sha256(content).hexdigest() == made["sha256"]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (line,) = archive.read("entries.jsonl").splitlines()
    assert json.loads(line)["texts"]["prompt"]["text"] == "Plan B"
    assert program.delete(address).status_code == 204
    assert program.get(address).status_code == 404
    actions = [entry.action for entry in entry_list(cast.team.id)]
    assert actions[-4:] == [
        f"ledger_export.{what}"
        for what in ("requested", "completed", "downloaded", "deleted")
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"format": "xlsx"},
        {"outcome": "fine"},
        {"subject_id": "nobody"},
        {"since": "yesterday"},
        {"data_class": "secret"},
        {"unknown": 1},
        {"texts": "perhaps"},
    ],
)
def test_rubbish_is_refused_by_name(program, values):
    answer = order(program, **values)
    assert answer.status_code == 400
    (name,) = values
    assert name in answer.content.decode()
    assert not LedgerExport.objects.across_teams().exists()


def test_one_too_many_is_refused(program):
    for _ in range(MAX_KEPT):
        assert order(program).status_code == 202
    answer = order(program)
    assert answer.status_code == 409
    assert "delete one first" in answer.content.decode()


def test_scope_is_needed(cast):
    for scope in (Scope.AUDIT_READ, Scope.READ):
        assert order(keyed(cast.team, scope)).status_code == 403


def test_g15_other_team_finds_no_export(program, cast):
    order(program)
    export = LedgerExport.objects.across_teams().get()
    stranger = keyed(cast.other_team, Scope.AUDIT_EXPORT)
    address = f"{EXPORTS}{export.id}/"
    assert stranger.get(EXPORTS).json()["data"] == []
    for answer in (
        stranger.get(address),
        stranger.get(f"{address}file/"),
        stranger.delete(address),
    ):
        assert answer.status_code == 404
