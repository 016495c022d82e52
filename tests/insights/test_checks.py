"""Kept sums are compared with the rows of their runs, and differences are named."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from apps.audit.rows import verify_rows
from apps.insights.models import FaultRow, QueryRow, ShapeRow
from apps.insights.rollup import team_insights_keep
from apps.runs.models import Run
from tests.conftest import Cast
from tests.insights.runs import FAULT, LOOP, answered

pytestmark = pytest.mark.django_db
DAY = datetime(2025, 3, 4, 12, tzinfo=UTC)
NUMBERS = {
    QueryRow: [
        "runs",
        "failed",
        "cost_micros",
        "prompt_tokens",
        "completion_tokens",
        "unknown_costs",
        "based_runs",
        "based_asked",
        "based_answered",
        "based_tokens",
        "based_cost_micros",
    ],
    FaultRow: ["runs", "failed", "count", "cost_micros"],
    ShapeRow: ["runs", "failed", "completed", "cost_micros", "tokens", "unknown_costs"],
}
OTHERS = [
    (QueryRow, "latencies", "[9,9]"),
    (QueryRow, "first_tokens", "[9,9]"),
    (QueryRow, "costs", "[9,9]"),
    (FaultRow, "rescues", {"replan": 7}),
    (FaultRow, "examples", []),
    (ShapeRow, "latencies", "[9,9]"),
    (ShapeRow, "examples", []),
    (ShapeRow, "access", [[], [0]]),
]


@pytest.fixture
def kept(cast: Cast, time_machine) -> Run:
    """A day that is over with two runs, summed."""
    time_machine.move_to(datetime(2025, 3, 6, 12, tzinfo=UTC))
    run = answered(cast, DAY, user=cast.bob, api_key=cast.key.row, findings=[FAULT])
    answered(cast, DAY, family="invoices", findings=[LOOP])
    list(team_insights_keep(cast.team.id))
    return run


def check(cast: Cast) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(
            "insights_rebuild",
            "--check",
            "--team",
            cast.team.slug,
            stdout=out,
            stderr=err,
        )
    except CommandError as exc:
        err.write(str(exc))
    return out.getvalue(), err.getvalue()


def columns(cast: Cast) -> set[str]:
    """Return the columns of kept sums that audit_verify finds."""
    found = verify_rows(cast.team.id).faults
    return {each.column for each in found if each.row.startswith("insights of 2025-03")}


def test_sound_sums_have_no_differences(cast: Cast, kept: Run):
    out, err = check(cast)
    assert f"{cast.team.slug}: 2 sums of days compared, 0 differences" in out
    assert err == ""


@pytest.mark.parametrize(
    ("model", "column"),
    [(model, column) for model, names in NUMBERS.items() for column in names],
)
def test_changed_number_is_named(cast: Cast, kept: Run, model, column):
    rows = model.objects.for_team(cast.team.id)
    rows.filter(pk=rows.first().pk).update(**{column: F(column) + 1})
    assert columns(cast) == {column}
    _, err = check(cast)
    assert "insights of 2025-03-04" in err and f": {column}: stored" in err


@pytest.mark.parametrize(("model", "column", "value"), OTHERS)
def test_changed_detail_is_named(cast: Cast, kept: Run, model, column, value):
    rows = model.objects.for_team(cast.team.id)
    rows.filter(pk=rows.first().pk).update(**{column: value})
    assert columns(cast) == {column}


@pytest.mark.parametrize("model", [QueryRow, FaultRow, ShapeRow])
def test_missing_row_is_named(cast: Cast, kept: Run, model):
    rows = model.objects.for_team(cast.team.id)
    rows.filter(pk=rows.first().pk).delete()
    assert "stored nothing, derived a row" in check(cast)[1]


def test_gone_people_and_keys_are_no_difference(cast: Cast, kept: Run):
    cast.bob.delete()
    cast.key.row.delete()
    assert check(cast)[1] == ""


def test_sums_are_made_anew_after_a_difference(cast: Cast, kept: Run):
    QueryRow.objects.for_team(cast.team.id).update(runs=7)
    assert "differ from the runs" in check(cast)[1]
    call_command("insights_rebuild", "--team", cast.team.slug, stdout=io.StringIO())
    assert check(cast)[1] == ""


def test_graphs_of_older_runs_are_derived_from_their_rows(cast: Cast, kept: Run):
    runs = Run.objects.for_team(cast.team.id)
    runs.update(shape=None)
    call_command("insights_rebuild", "--team", cast.team.slug, stdout=io.StringIO())
    assert set(runs.values_list("shape", flat=True)) == {kept.shape}
