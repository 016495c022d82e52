"""Consent, counts and exports of learning data: on pages, over REST, by command."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest
from arro3.io import read_parquet
from django.core.management import CommandError
from django.test import Client

from apps.accounts.models import Scope
from apps.governance.services import feedback_give
from apps.training.selectors import LearningTally, learning_records
from tests.conftest import Site
from tests.evaluation.samples import command, entries_of
from tests.evaluation.test_production_outcomes import asked
from tests.factories import ACTOR, PoolFactory
from tests.rest.conftest import keyed, member
from tests.training.explored import consent, credited, explored, pool_name

PAGE, EXPORT = "/learning/", "/learning/export/"
SETTINGS, DATA, FILE = "learning/settings/", "learning/data/", "learning/export/"
NO = {
    "learns_from_requests": False,
    "explored_percent": 0,
    "trusts_verified_outcomes": False,
    "half_life_answers": 50,
}
YES, MORE = {**NO, "learns_from_requests": True}, {**NO, "explored_percent": 5}
CHANGED = "training.settings_updated"


def browser(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def rows_of(archive: zipfile.ZipFile) -> list[dict[str, Any]]:
    found = []
    for name in archive.namelist():
        if name.endswith(".parquet"):
            for batch in read_parquet(io.BytesIO(archive.read(name))):
                values = batch.to_struct_array()
                found += [values[n].as_py() for n in range(batch.num_rows)]
    return found


def opened(answer: Any) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))


# --- consent --------------------------------------------------------------------------


@pytest.mark.django_db
def test_consent_is_off_until_somebody_gives_it(cast):
    told = member(cast.vera).get(SETTINGS)
    assert told.json() == {**NO, "updated_at": None, "updated_by": None}
    assert entries_of(cast.team, CHANGED) == []


@pytest.mark.django_db
def test_each_change_is_on_record_and_none_that_changes_nothing(cast):
    alice = member(cast.alice)
    for value in (YES, YES, MORE):
        answer = alice.put(SETTINGS, value)
        assert answer.status_code == 200
        assert {name: answer.json()[name] for name in NO} == value
    assert answer.json()["updated_by"] == "Alice"
    assert entries_of(cast.team, CHANGED) == [
        {"before": NO, "after": YES},
        {"before": YES, "after": MORE},
    ]


@pytest.mark.django_db
def test_what_is_left_out_explores_nothing(cast):
    alice = member(cast.alice)
    alice.put(SETTINGS, MORE)
    answer = alice.put(SETTINGS, {"learns_from_requests": True})
    assert answer.json()["explored_percent"] == 0


@pytest.mark.django_db
def test_members_and_keys_cannot_give_it(cast):
    assert member(cast.bob).put(SETTINGS, YES).status_code == 403
    assert keyed(cast.team, *Scope).put(SETTINGS, YES).status_code == 403
    assert browser(cast.bob).post(PAGE, {"learns_from_requests": "on"}).status_code == (
        403
    )
    assert member(cast.bob).get(SETTINGS).json()["learns_from_requests"] is False


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"learns_from_requests": "yes"},
        {**YES, "x": 1},
        {**YES, "explored_percent": 21},
        {**YES, "explored_percent": -1},
        {**YES, "explored_percent": 2.5},
    ],
)
def test_bad_input_names_its_field(cast, body):
    answer = member(cast.alice).put(SETTINGS, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"]


@pytest.mark.django_db
def test_the_page_gives_and_takes_it(cast):
    alice = browser(cast.alice)
    assert alice.post(PAGE, {"learns_from_requests": "on"}).status_code == 302
    assert "checked" in alice.get(PAGE).content.decode()
    assert alice.post(PAGE, {"explored_percent": "7"}).status_code == 302
    assert 'value="7"' in alice.get(PAGE).content.decode()
    assert alice.post(PAGE, {"explored_percent": "21"}).status_code == 200
    assert alice.post(PAGE, {}).status_code == 302
    assert [
        entry["after"]["explored_percent"] for entry in entries_of(cast.team, CHANGED)
    ] == [0, 7, 0]


# --- counts ---------------------------------------------------------------------------


@pytest.mark.django_db
def test_an_empty_pool_says_how_to_begin(cast):
    PoolFactory.create(team=cast.team, name="house")
    page = browser(cast.alice).get(PAGE).content.decode()
    assert "Nothing to learn from yet" in page
    assert "Train the light planner of house" in page
    told = member(cast.vera).get(DATA).json()
    assert [each["missing_runs"] for each in told["pools"]] == [500]


def test_counts_are_shown_by_source_and_family(site):
    explored(site)
    (pool,) = member(site.cast.vera).get(DATA).json()["pools"]
    assert (pool["pool"], pool["runs"], pool["weight"]) == (pool_name(site), 6, 6.0)
    (count,) = pool["counts"]
    assert (count["source"], count["family"], count["runs"]) == ("verifier", "sums", 6)
    page = browser(site.cast.vera).get(PAGE).content.decode()
    assert re.search(r"494 more</span>\s+graded runs needed", page)
    assert "Verifiers" in page
    assert "Export</span>" not in page


# --- export ---------------------------------------------------------------------------


def test_an_export_has_one_row_for_each_step(site):
    explored(site)
    team = site.cast.team
    archive = opened(browser(site.cast.alice).post(EXPORT, {"pool": pool_name(site)}))
    records = list(learning_records(team.id, pool_name(site)))
    rows = rows_of(archive)
    assert len(rows) == sum(len(record.run.steps) for record in records) == 15
    assert [(row["prompt"], row["worker"], row["grade"]) for row in rows] == [
        (record.run.prompt, step.worker, step.grade)
        for record in records
        for step in record.run.steps
    ]
    checked = next(row for row in rows if row["role"] == "check" and row["steps"] == 2)
    assert (checked["step"], checked["reads"]) == (1, [0])
    assert all(row["cost_micros"] and row["input_tokens"] for row in rows)


def test_its_card_says_what_it_holds(site):
    explored(site)
    consent(site.cast)
    feedback_give(run=asked(site), rating="up", actor=ACTOR)
    credited()
    answer = keyed(site.cast.team, Scope.AUDIT_EXPORT).get(FILE)
    card = opened(answer).read("README.md").decode()
    tally = LearningTally()
    for record in learning_records(site.cast.team.id, pool_name(site)):
        tally.add(record)
    assert tally.digest in card
    assert "- Runs: 7, with a weight of 7.0" in card
    assert "| verifier | 6 |" in card
    assert "| feedback | 1 |" in card
    assert "| (none) | 1 |" in card
    assert "people and API keys" in card.replace("\n", " ")
    assert "2 steps have no grade" in card


def test_each_export_is_on_record(site):
    facts = {"pool": pool_name(site), "learns_from_requests": False}
    browser(site.cast.alice).post(EXPORT, {"pool": pool_name(site)})
    member(site.cast.alice).get(FILE)
    assert entries_of(site.cast.team, "training.data_exported") == [facts, facts]


def test_who_may_not_export(site):
    for person in (site.cast.bob, site.cast.vera):
        assert browser(person).post(EXPORT).status_code == 403
        assert member(person).get(FILE).status_code == 403
    assert keyed(site.cast.team, Scope.READ).get(FILE).status_code == 403
    assert entries_of(site.cast.team, "training.data_exported") == []


def test_g6_a_stranger_gets_nothing_of_the_team(site: Site):
    explored(site)
    address = f"{FILE}?pool={pool_name(site)}"
    assert member(site.cast.mallory).get(address).status_code == 404
    assert browser(site.cast.mallory).post(EXPORT).status_code == 404


def test_the_command_writes_the_same_and_replaces_no_file(site, tmp_path):
    explored(site)
    path = tmp_path / "data.zip"
    said, _ = command("learning_export", "--team=orchestra", f"--to={path}")
    assert str(path) in said
    assert len(rows_of(zipfile.ZipFile(path))) == 15
    with pytest.raises(CommandError, match="is there already"):
        command("learning_export", "--team=orchestra", f"--to={path}")
    with pytest.raises(CommandError, match="there is no team"):
        command("learning_export", "--team=nobody")
    with pytest.raises(CommandError, match="no pool"):
        command("learning_export", "--team=orchestra", "--pool=none", f"--to={path}2")


def test_without_data_there_is_an_empty_table(site):
    archive = opened(browser(site.cast.alice).post(EXPORT))
    assert rows_of(archive) == []
    assert "- Runs: 0" in archive.read("README.md").decode()
