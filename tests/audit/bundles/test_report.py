"""The report of an export draws the plans of the run, and stays inert."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pytest

from apps.audit.services import content_erase
from tests.audit.bundles.forging import RUNS, export, unzipped
from tests.audit.examples import ALICE, append, draft

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "</text><script>alert(1)</script><a href='javascript:alert(1)'>x</a>"
PLAN = {
    "round": 0,
    "planner": "language_model",
    "workers": ["sim-alpha", HOSTILE, "a-worker-with-a-very-long-name"],
    "access": [[], [0], [0, 1]],
    "skipped": [],
}
SUBTASKS = ["Read <b>this</b>.", HOSTILE, "Judge them."]
ACTIVE = re.compile(r"<script|<a [^>]*javascript|<(img|iframe|object|form)|\son\w+=")


def report_of(plan: dict[str, Any], *, is_erased: bool = False) -> str:
    team = uuid.uuid4()
    bodies = {"subtasks": json.dumps(SUBTASKS)}
    ends = [
        draft(action, subject_id=RUNS[0], data={"round": 0, "step": step})
        for step, action in enumerate(("step.completed", "step.failed"))
    ]
    first = draft("plan.accepted", subject_id=RUNS[0], data=plan, bodies=bodies)
    append(team, first, *ends)
    if is_erased:
        content_erase(
            team_id=team, places=[(1, "subtasks")], actor=ALICE, reason="its time"
        )
    return unzipped(export(team))["report.html"].decode()


def drawing(report: str) -> str:
    found = re.search(r"<svg.*?</svg>", report, re.DOTALL)
    return found.group() if found else ""


def test_report_draws_the_plan_with_how_its_steps_ended() -> None:
    report = report_of(PLAN)
    svg = drawing(report)
    assert svg.count('class="box"') == 3
    assert svg.count('class="edge"') == 3
    assert re.findall(r'<g class="([\w ]+)"', svg) == [
        "completed",
        "failed",
        "not ended",
    ]
    assert "a-worker-with-a-v…" in svg
    assert "sim-alpha, completed: <bdi>Read &lt;b&gt;this" in report
    assert 'href="#entry-1"' in report and 'id="entry-1"' in report


def test_g19_report_with_a_hostile_plan_is_inert() -> None:
    report = report_of(PLAN)
    assert not ACTIVE.search(report)
    assert "&lt;script&gt;" in drawing(report)
    links = re.findall(r"(?:href|src|url)\s*[=(]\s*[\"']?([^\"')>]+)", report)
    assert all(link.startswith("#") for link in links if "&" not in link), links


def test_erased_subtasks_leave_the_plan_drawn() -> None:
    report = report_of(PLAN, is_erased=True)
    assert drawing(report).count('class="box"') == 3
    assert "Judge them." not in report


@pytest.mark.parametrize(
    "odd",
    [
        {"access": [[], [1], [0]]},
        {"access": [[], [0]]},
        {"access": [[], [-1], [0]]},
        {"access": "none"},
        {"workers": [1, 2, 3]},
        {"round": "one"},
        {"workers": [], "access": []},
    ],
)
def test_what_is_no_plan_is_not_drawn_and_still_reported(odd) -> None:
    report = report_of({**PLAN, **odd})
    assert drawing(report) == ""
    assert "plan.accepted" in report


def test_export_holds_the_schema_of_its_entries() -> None:
    team = uuid.uuid4()
    append(team, draft(subject_id=RUNS[0]))
    schema = json.loads(unzipped(export(team))["run-events.schema.json"])
    assert "plan.accepted" in schema["$defs"]
