"""The report of an export of a filter: entries as a table, plans of few runs, inert."""

from __future__ import annotations

import json
import re
import uuid
from html.parser import HTMLParser
from typing import Any

import pytest

from apps.audit.exports import report as report_module
from deploy.ledger_entry_schema import entry_schema
from tests.audit.bundles.forging import RUNS, export_of_filter, unzipped
from tests.audit.bundles.test_report import ACTIVE, HOSTILE, PLAN, SUBTASKS, drawing
from tests.audit.examples import RUN, append, draft

pytestmark = pytest.mark.django_db(transaction=True)


class Cells(HTMLParser):
    """Reads the cells of each row of a page's table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._is_in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        self._is_in_cell = tag == "td"

    def handle_endtag(self, tag: str) -> None:
        self._is_in_cell = self._is_in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self.rows[-1][-1] += data


def planned(run: uuid.UUID, *, plan: dict[str, Any] = PLAN) -> list[Any]:
    """Return a plan and how two of its steps ended."""
    bodies = {"subtasks": json.dumps(SUBTASKS)}
    ends = ("step.completed", "step.failed")
    return [
        draft("plan.accepted", subject_id=run, data=plan, bodies=bodies),
        *(
            draft(action, subject_id=run, data={"round": 0, "step": step})
            for step, action in enumerate(ends)
        ),
    ]


def report_of(team: uuid.UUID, *, action: str = "", texts: bool = True) -> str:
    content = export_of_filter(team, action=action, texts=texts)
    return unzipped(content)["report.html"].decode()


def test_entries_are_rows_in_order_with_their_facts_summed_up(team) -> None:
    append(team, draft("run.created", data={"tier": "mini", "text": "x" * 200}))
    append(team, draft("pool.updated", data={"before": {"a": 1}, "after": {"a": 2}}))
    _, first, second = Cells(report_of(team)).rows[:3]
    assert first[0] == "1"
    assert first[2:6] == ["run.created", "Alice (user)", f"run {RUN}", "success"]
    assert re.fullmatch("text: x{59}…; tier: mini", first[6])
    assert (second[0], second[6]) == ("2", "a: 1 → 2")


def test_a_filter_and_pages_leave_one_table(team, monkeypatch) -> None:
    monkeypatch.setattr("apps.audit.exports.filters.PAGE", 2)
    for _ in range(5):
        append(team, draft("run.created"), draft("run.completed"))
    page = report_of(team, action="run.completed")
    assert [row[0] for row in Cells(page).rows[1:]] == ["2", "4", "6", "8", "10"]
    assert "{&quot;action&quot;:&quot;run.completed&quot;}" in page
    assert (page.count("<table"), page.count("</html>")) == (1, 1)


def test_plans_of_each_run_are_drawn_with_its_own_steps(team) -> None:
    first, second = planned(RUNS[0]), planned(RUNS[1])
    append(team, first[0], second[0], *first[1:])
    page = report_of(team)
    drawn = re.findall(r"<h2>Plan of round 1 of run (\S+)</h2>", page)
    assert drawn == [str(RUNS[0]), str(RUNS[1])]
    states = re.findall(r'<g class="([\w ]+)"', page)
    assert states[:2] == ["completed", "failed"]
    assert set(states[2:]) == {report_module.NOT_AMONG_THEM}
    assert 'href="#entry-1"' in page and 'id="entry-1"' in page


def test_subtasks_are_shown_only_in_an_export_with_texts(team) -> None:
    append(team, *planned(RUNS[0]))
    assert "Judge them." in report_of(team)
    without = report_of(team, texts=False)
    assert "Judge them." not in without
    assert drawing(without).count('class="box"') == 3


@pytest.mark.parametrize(("runs", "drawings"), [(2, 2), (3, 0)])
def test_plans_of_many_runs_are_not_drawn(team, monkeypatch, runs, drawings) -> None:
    monkeypatch.setattr(report_module, "MAX_RUNS", 2)
    for number in range(runs):
        append(team, *planned(uuid.UUID(int=50 + number)))
    page = report_of(team)
    assert page.count("<svg") == drawings
    assert ("Plans are drawn where" in page) is (drawings == 0)
    assert len(Cells(page).rows) > 3 * runs


def test_g19_hostile_facts_names_and_plans_are_inert(team) -> None:
    append(team, draft("run.created", data={"name": HOSTILE, "mark": "<!-- rows -->"}))
    append(team, *planned(RUNS[0]))
    page = report_of(team)
    assert not ACTIVE.search(page)
    assert page.count("<!-- rows -->") == 0
    assert "default-src 'none'" in page


def test_every_export_with_proofs_holds_the_schema_of_all_actions(team) -> None:
    append(team, draft())
    files = unzipped(export_of_filter(team, texts=False))
    assert json.loads(files["ledger-entries.schema.json"]) == entry_schema()
