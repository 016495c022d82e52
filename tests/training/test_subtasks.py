"""Subtasks compared by outcome: on the page and over REST."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from apps.governance.services import feedback_give, retention_set
from apps.planners.fixed import AGGREGATION, PROPOSAL
from apps.planners.light.logged_runs import StepRole
from apps.training.learning_data.subtask_texts import (
    SubtaskCounts,
    SubtaskUse,
    general_words,
)
from apps.training.selectors import learning_records
from tests.evaluation.samples import entries_of
from tests.evaluation.test_driver import ended, start
from tests.evaluation.test_production_outcomes import asked
from tests.factories import ACTOR, PoolFactory
from tests.governance.conftest import erase, later
from tests.rest.conftest import member
from tests.training.explored import consent, credited, pool_name, training_tasks

PAGE, PLACE = "/learning/subtasks/", "learning/subtasks/"
READ = "training.subtasks_read"
MIXTURE = {
    "kind": "mixture_of_agents",
    "workers": ["sim-delta", "sim-birch"],
    "aggregator": "sim-birch",
}


def mixed(site: Any, count: int = 6) -> None:
    """Have a mixture of agents answer training tasks, and so use its subtasks."""
    ended(start(site, MIXTURE, tasks=training_tasks(count), split="training"))


def told(site: Any, **query: str) -> dict[str, Any]:
    answer = member(site.cast.vera).get(f"{PLACE}?{urlencode(query)}")
    assert answer.status_code == 200
    return dict(answer.json())


def page(site: Any, **query: str) -> str:
    client = Client()
    client.force_login(site.cast.vera)
    return client.get(PAGE, query).content.decode()


def test_subtasks_are_told_with_what_came_of_their_runs(site):
    mixed(site)
    found = told(site)
    team = site.cast.team
    records = list(learning_records(team.id, pool_name(site)))
    right = sum(record.graded.grade for record in records)
    proposal, aggregation = found["outcomes"]
    assert [(each["role"], each["text"]) for each in found["outcomes"]] == [
        ("solve", PROPOSAL),
        ("combine", AGGREGATION),
    ]
    # Two steps of a run had the same words: that is one use, at the cost of both.
    assert (proposal["uses"], proposal["right"]) == (6, right)
    assert proposal["mean_cost_micros"] == round(
        sum(cost or 0 for record in records for cost in record.costs[:2]) / 6
    )
    assert aggregation["mean_cost_micros"] == round(
        sum(record.costs[2] or 0 for record in records) / 6
    )
    assert proposal["success"]["low"] < right / 6 <= proposal["success"]["high"]
    assert proposal["planners"] == ["mixture_of_agents"]
    assert (found["runs"], found["older_runs"], found["rare_texts"]) == (6, 0, 0)


def test_a_text_that_few_runs_had_is_only_counted(site):
    mixed(site, 4)
    found = told(site)
    assert (found["runs"], found["outcomes"], found["rare_texts"]) == (4, [], 2)
    assert "Nothing to compare yet" in page(site)


def test_filters_leave_the_runs_of_a_family_and_the_steps_of_a_worker(site):
    mixed(site)
    (delta,) = told(site, worker="sim-delta")["outcomes"]
    assert delta["text"] == PROPOSAL
    assert told(site, family="no such")["runs"] == 0
    family = delta["family"]
    assert len(told(site, family=family)["outcomes"]) == 2


def test_the_page_shows_the_words_to_those_who_read_runs(site):
    mixed(site)
    shown = page(site)
    assert "Answer the user&#x27;s question completely and on your own." in shown
    assert "by mixture of agents" in shown
    assert AGGREGATION[:40] not in page(site, worker="sim-delta")


def test_each_reading_is_on_record(site):
    mixed(site)
    told(site, worker="sim-delta")
    page(site)
    facts = {"pool": pool_name(site), "family": None, "runs": 6}
    assert entries_of(site.cast.team, READ) == [
        {**facts, "worker": "sim-delta", "subtasks": 1},
        {**facts, "worker": "", "subtasks": 2},
    ]


def test_what_is_erased_leaves_the_table(site):
    mixed(site)
    assert len(told(site)["outcomes"]) == 2
    retention_set(team=site.cast.team, days=183, actor=ACTOR)
    assert erase(later(184))
    found = told(site)
    assert (found["runs"], found["outcomes"], found["rare_texts"]) == (0, [], 0)


def test_requests_are_in_it_with_consent_alone(site):
    feedback_give(run=asked(site), rating="up", actor=ACTOR)
    credited()
    assert told(site)["runs"] == 0
    consent(site.cast)
    assert told(site)["runs"] == 1


@pytest.mark.django_db
def test_another_teams_pool_is_not_there(cast):
    PoolFactory.create(team=cast.team, name="house")
    place = f"{PLACE}?pool=house"
    assert member(cast.mallory).get(place).status_code == 404
    assert member(cast.alice).get(place).status_code == 200


@pytest.mark.parametrize(
    ("written", "general"),
    [
        ("Add 3 and\n 4.5  now", "Add # and # now"),
        ("Answer only: «What is up?». Bold.", "Answer only: …. Bold."),
        ('Say "x" twice', "Say … twice"),
        ("  ", ""),
    ],
)
def test_what_belongs_to_one_question_is_left_out(written, general):
    assert general_words(written) == general


def test_surely_better_words_come_first():
    counts = SubtaskCounts()

    def used(text: str, *grades: float) -> None:
        for grade in grades:
            counts.add([SubtaskUse(StepRole.CHECK, "", text, "light", grade, None)])

    used("Check it", *[1.0] * 6)
    used("CHECK IT", *[1.0] * 6)
    used("Look", *[1.0] * 5)
    used("Glance", *[0.0] * 8)
    used("Rarely", *[1.0] * 4)
    found = counts.outcomes(fewest=5)
    assert [(each.text, each.uses) for each in found] == [
        ("Check it", 12),
        ("Look", 5),
        ("Glance", 8),
    ]
    assert found[0].mean_cost_micros is None
