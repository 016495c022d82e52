"""Usage as a file: what the page shows, with the fields that REST has."""

import csv
import json
from datetime import UTC, timedelta

import pytest
from django.utils import timezone

from tests.console.conftest import text_of
from tests.factories import UserFactory
from tests.playground import stories
from tests.playground.conftest import record_run

URL = "/usage/"


@pytest.fixture
def runs(cast):
    """A run of today, one of last week."""
    for days, micros in ((0, 1_500_000), (8, 250_000)):
        record_run(
            cast.team,
            stories.finished(),
            created_at=timezone.now() - timedelta(days),
            cost_micros=micros,
            prompt_tokens=1000,
            completion_tokens=234,
            user=cast.bob,
        )


def _cells(row):
    """Return what REST says as cells of CSV."""
    words = {None: "", True: "true", False: "false"}
    return {
        name: words[value] if value is None or isinstance(value, bool) else str(value)
        for name, value in row.items()
    }


def test_file_has_every_row_with_the_figures_of_rest(alice, cast, runs):
    answer = alice.get(f"{URL}export.csv?days=7")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].endswith('.csv"')
    rows = list(csv.DictReader(answer.content.decode().splitlines()))
    assert {row["group"] for row in rows} == {"day", "worker", "member", "key"}
    midnight = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0)
    since = (midnight - timedelta(days=6)).strftime("%Y-%m-%dT00:00:00Z")
    for group in ("day", "worker", "member", "key"):
        told = alice.get("/api/v1/usage/", {"group": group, "since": since}).json()
        found = [row for row in rows if row["group"] == group]
        assert [{"group": group, **_cells(row)} for row in told["rows"]] == found


def test_file_of_lines_says_the_same(alice, runs):
    cells = alice.get(f"{URL}export.csv").content.decode().splitlines()
    lines = alice.get(f"{URL}export.jsonl")
    assert lines["Content-Type"] == "application/jsonl"
    objects = [json.loads(line) for line in lines.content.splitlines()]
    assert len(objects) == len(cells) - 1
    assert ",".join(objects[0]) == cells[0]
    bob = next(o for o in objects if o["label"] == "Bob")
    assert (bob["group"], bob["runs"], bob["cost_usd"]) == ("member", 2, "1.75")


def test_name_in_the_file_is_no_formula(alice, cast):
    record_run(
        cast.team,
        stories.finished(),
        created_at=timezone.now(),
        user=UserFactory.create(name="=1+1"),
    )
    assert ",'=1+1," in alice.get(f"{URL}export.csv").content.decode()


def test_page_leads_to_files_of_its_period(vera, runs):
    page = text_of(vera.get(f"{URL}?days=90"))
    for form in ("csv", "jsonl"):
        address = f"{URL}export.{form}?days=90"
        assert f'href="{address}"' in page
        assert vera.get(address).status_code == 200


def test_file_of_a_team_that_ran_nothing_is_its_head(mallory, runs):
    assert len(mallory.get(f"{URL}export.csv").content.splitlines()) == 1
    assert mallory.get(f"{URL}export.jsonl").content == b""
