"""Each figure of insights leads to the list of the runs that it counts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.insights.rollup import team_insights_keep
from apps.insights.types import GROUPS
from tests.conftest import Cast
from tests.console.conftest import text_of
from tests.insights.runs import FAULT, LOOP, PARALLEL, answered

Link = tuple[str, int]
"""The address of a list of runs, and how many it is said to have."""
CELL = re.compile(r'<a href="(/runs/\?[^"]*)">([\d,]+)</a>')
ROW = re.compile(
    r'<th scope="row"><a href="(/runs/\?[^"]*)">.*?data-label="Runs">([\d,]+)', re.S
)
COUNTED = re.compile(r'id="run-count">([\d,]+)\+? run')


@pytest.fixture
def runs(cast: Cast) -> None:
    """Runs of each kind that pages of insights tell apart, on two days."""
    now = timezone.now()
    key = cast.key.row
    bad = {"state": "failed", "error_code": "worker_failed"}
    answered(cast, now, user=cast.alice, family="invoices", findings=[FAULT, LOOP])
    answered(cast, now, user=cast.alice, family="invoices", findings=[FAULT, FAULT])
    answered(cast, now, user=cast.bob, api_key=key, family="letters", **bad)
    answered(cast, now, user=cast.bob, model="house/mini", plan=PARALLEL[:1])
    answered(cast, now, api_key=key, model="worker/alpha", planner="single_worker")
    answered(cast, now, model="house/worker/mini", planner="", plan=[])
    answered(cast, now, source="evaluation", family="sums", findings=[FAULT])
    answered(cast, now, source="shadow", planner="fallback", findings=[LOOP], **bad)
    answered(cast, now - timedelta(days=3), planner="approver", source="rest", **bad)
    answered(cast, now, state="cancelled", findings=[{**FAULT, "worker": ""}])
    answered(cast, now, state="running", findings=None, finished_at=None)
    answered(cast, now - timedelta(days=60), family="invoices", findings=[FAULT])


def links(page: str) -> Iterator[Link]:
    for pattern in (ROW, CELL):
        for address, number in pattern.findall(page):
            yield html.unescape(address), int(number.replace(",", ""))


def listed(alice, address: str) -> int:
    found = COUNTED.search(text_of(alice.get(address)))
    assert found is not None, address
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("tests", ["", "&tests=on"])
@pytest.mark.parametrize(
    ("page", "least"),
    [
        *((f"?group={group}", 1) for group in GROUPS),
        ("failures/?", 3),
        ("plans/?", 3),
    ],
)
def test_lists_have_as_many_runs_as_figures_say(
    alice, cast, runs, page, least, tests, is_kept
):
    if is_kept:
        list(team_insights_keep(cast.team.id))
    found = list(links(text_of(alice.get(f"/insights/{page}{tests}"))))
    assert len(found) >= least
    assert [(address, listed(alice, address)) for address, _ in found] == found


def test_gone_owners_are_found_as_nobody(alice, cast, runs):
    cast.bob.delete()
    for group in ("member", "key"):
        found = list(links(text_of(alice.get(f"/insights/?group={group}"))))
        assert [(address, listed(alice, address)) for address, _ in found] == found


def test_filters_of_a_link_are_shown_and_stay(alice, cast, runs):
    hexed = cast.alice.id.hex
    page = text_of(alice.get(f"/runs/?member={hexed}&fault=step:rate_limited:beta"))
    assert f'<option value="{hexed}" selected>Alice</option>' in page
    assert "selected>Rate limited, beta</option>" in page
    assert "are searched in the newest" in page


def test_names_of_other_teams_are_not_shown(mallory, cast, runs):
    for address in (f"key={cast.key.row.id.hex}", f"member={cast.alice.id.hex}"):
        page = text_of(mallory.get(f"/runs/?{address}"))
        assert "Build server" not in page and ">Alice<" not in page
