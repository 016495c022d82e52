"""Smoothie: workers are weighted by their answers alone, as long as those are kept."""

from __future__ import annotations

import pytest

from apps.audit.models import Content
from apps.audit.services import content_erase
from apps.core.errors import InvalidInput
from apps.evaluation.models import EvaluationResult
from apps.evaluation.reports.report import report_make
from apps.evaluation.systems.answer_distance import answer_distance
from apps.evaluation.systems.earlier import ComparedTask
from apps.evaluation.systems.smoothie import estimated_errors
from tests.conftest import Site
from tests.evaluation.samples import documents
from tests.evaluation.test_driver import ended, start
from tests.factories import ACTOR

SINGLES = [{"kind": "worker", "worker": n} for n in ("sim-delta", "sim-birch", "echo")]


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("The answer is **Paris**.", "Answer: paris", 0.0),
        ("Answer: 12", "Answer: 21", 2.0),
        ("Answer: red and blue", "Answer: red or blue", 2 - 2 * 2 / 3),
        ("", "Answer: 1", 2.0),
    ],
)
def test_answers_are_apart_by_their_words(one, other, distance):
    assert answer_distance(one, other) == pytest.approx(distance)


def test_errors_that_add_up_to_the_distances_are_found_again():
    errors = {"a": 0.1, "b": 0.3, "c": 0.7, "d": 0.2}
    names = sorted(errors)
    distances = {
        (one, other): errors[one] + errors[other]
        for n, one in enumerate(names)
        for other in names[n + 1 :]
    }
    found = estimated_errors([ComparedTask("x", distances, {})] * 3)
    assert found == pytest.approx(errors)


def test_two_workers_are_too_few_to_tell():
    assert estimated_errors([ComparedTask("x", {("a", "b"): 0.5}, {})]) == {}


@pytest.fixture
def tasks() -> list[dict[str, object]]:
    return [
        {**each, "split": split, "id": f"{split}-{each['id']}", "family": "all"}
        for split in ("training", "held_out")
        for each in documents(24)
    ]


def test_it_routes_by_answers_whatever_their_grades(site: Site, tasks):
    site.add_worker("echo")
    first = ended(start(site, *SINGLES, split="training", tasks=tasks))
    # All grades are turned round: they must not matter.
    rows = EvaluationResult.objects.for_team(first.team_id).filter(evaluation=first)
    right = list(rows.filter(state="right").values_list("id", flat=True))
    rows.update(state="right")
    rows.filter(id__in=right).update(state="wrong")
    system = {"kind": "smoothie", "measured_by": str(first.id)}
    second = ended(start(site, system, tasks=tasks))
    (recorded,) = second.settings["systems"]
    assert recorded["workers"] == ["echo", "sim-birch", "sim-delta"]
    assert recorded["tasks"] == 16
    (found,) = report_make(second).systems
    assert found.ended == 16
    assert "echo" not in found.shares  # it agrees with nobody


def test_erased_answers_are_left_out_and_too_few_refused(site: Site, tasks):
    site.add_worker("echo")
    first = ended(start(site, *SINGLES, split="training", tasks=tasks))
    system = {"kind": "smoothie", "measured_by": str(first.id)}
    texts = Content.objects.for_team(first.team_id).values_list("seq", "name")
    erased = content_erase(
        team_id=first.team_id, places=list(texts), actor=ACTOR, reason="over"
    )
    assert erased.texts
    with pytest.raises(InvalidInput, match="those of 0 to 0 are still on record"):
        start(site, system, tasks=tasks)


def test_it_takes_three_workers(site: Site, tasks):
    first = ended(start(site, *SINGLES[:2], split="training", tasks=tasks))
    system = {"kind": "smoothie", "measured_by": str(first.id)}
    with pytest.raises(InvalidInput, match="answers of 3 single workers"):
        start(site, system, tasks=tasks)
