"""Every record of a decision has a number, a date, a status and the four parts."""

from __future__ import annotations

import re
from datetime import date

import pytest

from tests.docs.reading import ROOT, page

FOLDER = "docs/adr"
RECORDS = sorted(path.name for path in (ROOT / FOLDER).glob("0*.md"))
NUMBERS = {name: int(name[:4]) for name in RECORDS}
HEAD = re.compile(
    r"# (?P<number>\d+)\. .+\n\n"
    r"Date: (?P<date>\d{4}-\d\d-\d\d) · Status: (?P<status>accepted|superseded)"
    r"(?: · Superseded by: \[(?P<by>\d+)\]\((?P<by_file>[\w.-]+)\))?"
    r"(?: · Supersedes: \[(?P<old>\d+)\]\((?P<old_file>[\w.-]+)\))?\n\n"
)
PARTS = ("Context", "Decision", "Consequences", "Alternatives")


def head(name: str) -> dict[str, str | None]:
    """Return what stands above a record's first part."""
    found = HEAD.match(page(f"{FOLDER}/{name}"))
    assert found, "no title, or no line of date and status below it"
    return found.groupdict()


@pytest.mark.parametrize("name", RECORDS)
def test_record_has_its_number_a_date_and_a_status(name):
    fields = head(name)
    assert fields["number"] == str(NUMBERS[name])
    assert date.fromisoformat(fields["date"] or "")
    assert (fields["status"] == "superseded") == (fields["by"] is not None)


@pytest.mark.parametrize("name", RECORDS)
def test_record_has_the_four_parts_in_order(name):
    parts = re.findall(r"^\*\*(\w+)\.\*\* ", page(f"{FOLDER}/{name}"), re.M)
    assert tuple(parts) == PARTS


def test_successor_and_predecessor_name_each_other():
    heads = {name: head(name) for name in RECORDS}
    by = {(name, h["by"], h["by_file"]) for name, h in heads.items() if h["by"]}
    old = {
        (h["old_file"], h["number"], name) for name, h in heads.items() if h["old_file"]
    }
    assert by == old
    assert by


def test_numbers_have_no_gap_and_all_records_are_listed():
    assert list(NUMBERS.values()) == list(range(1, len(RECORDS) + 1))
    listed = re.findall(r"^(\d+)\. \[.+\]\((.+)\)$", page(f"{FOLDER}/README.md"), re.M)
    assert {name: int(number) for number, name in listed} == NUMBERS
