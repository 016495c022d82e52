"""Evaluations that go to a file and come from one."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from django.test import Client

from apps.audit.selectors import entry_list
from apps.core.errors import Conflict, InvalidInput
from apps.evaluation.models import Evaluation, EvaluationOutcome
from apps.evaluation.reports.report import report_make
from apps.evaluation.reports.report_formats import report_values
from apps.evaluation.services import evaluation_export, evaluation_import
from apps.evaluation.transfer import file_format
from tests.evaluation.made_up import made_up_evaluation
from tests.evaluation.samples import suite
from tests.factories import ACTOR, TeamFactory

pytestmark = pytest.mark.django_db


def written(evaluation: Evaluation) -> bytes:
    return b"".join(evaluation_export(evaluation))


def imported(team: Any, content: bytes) -> Evaluation:
    return evaluation_import(
        version=suite(team), content=content, name="measured.jsonl", actor=ACTOR
    )


def changed(content: bytes, line: int, **values: Any) -> bytes:
    """Return a file with other values in one of its lines."""
    lines = content.splitlines()
    lines[line] = orjson.dumps(orjson.loads(lines[line]) | values)
    return b"\n".join(lines)


def figures(evaluation: Evaluation) -> dict[str, Any]:
    """Return a report without what tells one evaluation from another."""
    values = report_values(report_make(evaluation))
    return {name: value for name, value in values.items() if name != "id"}


def test_another_team_gets_the_same_report(cast):
    own = made_up_evaluation(cast.team)
    other = TeamFactory.create()
    copy = imported(other, written(own))
    assert figures(copy) == figures(own)
    assert copy.finished_at == own.finished_at
    assert copy.imported_from is not None
    assert copy.imported_from["file"] == "measured.jsonl"
    assert written(copy) == written(own)


def test_the_import_is_on_record(cast):
    content = written(made_up_evaluation(cast.team))
    other = TeamFactory.create()
    copy = imported(other, content)
    (entry,) = [e for e in entry_list(other.id) if e.action == "evaluation.imported"]
    assert entry.subject_id == copy.id
    assert entry.data["results"] == 30
    assert copy.imported_from is not None
    assert entry.data["file_digest"] == copy.imported_from["digest"]


def test_its_pages_say_so_and_link_to_no_run(cast):
    copy = imported(cast.team, written(made_up_evaluation(cast.team)))
    vera = Client()
    vera.force_login(cast.vera)
    page = vera.get(f"/evaluations/{copy.id}/").content.decode()
    assert "imported from measured.jsonl" in page
    results = vera.get(f"/evaluations/{copy.id}/results/").content.decode()
    assert "sum-0" in results
    assert 'href="/runs/0' not in results


def test_one_that_was_cancelled_is_not_exported(cast):
    broken = made_up_evaluation(cast.team)
    broken.outcome = EvaluationOutcome.CANCELLED
    with pytest.raises(Conflict):
        written(broken)


@pytest.mark.parametrize(
    ("line", "values", "why"),
    [
        (0, {"format": 2}, "line 1: format"),
        (0, {"suite_digest": "0" * 64}, "other tasks"),
        (0, {"settings": {"pool": "p", "systems": []}}, r"line 1: settings\.systems"),
        (0, {"further": 1}, "line 1: further: there is no such field"),
        (1, {"task": "nowhere"}, "no task 'nowhere'"),
        (1, {"state": "started"}, "line 2: state"),
        (1, {"system": 2}, "one result of each of 3 systems"),
        (1, {"system": 7}, "one result of each of 3 systems"),
        (1, {"tokens": -1}, "line 2: tokens"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_and_nothing_is_kept(cast, line, values, why):
    content = changed(written(made_up_evaluation(cast.team)), line, **values)
    other = TeamFactory.create()
    with pytest.raises(InvalidInput, match=why):
        imported(other, content)
    assert not Evaluation.objects.for_team(other.id).exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\n\x00", b"[1]\n{}"])
def test_rubbish_is_refused(cast, content):
    with pytest.raises(InvalidInput, match="line 1"):
        imported(cast.team, content)


def test_a_file_without_results_is_refused(cast):
    head = written(made_up_evaluation(cast.team)).splitlines()[0]
    with pytest.raises(InvalidInput, match="no results"):
        imported(cast.team, head)


def test_sizes_are_bounded(cast, monkeypatch):
    content = written(made_up_evaluation(cast.team))
    monkeypatch.setattr(file_format, "MAX_RESULTS", 29)
    with pytest.raises(InvalidInput, match="more than 29 results"):
        imported(cast.team, content)
    monkeypatch.setattr(file_format, "MAX_BYTES", 10)
    with pytest.raises(InvalidInput, match="more than"):
        imported(cast.team, content)
