"""What subtasks and access lists make of steps, and what is learned of a run."""

import pytest

from apps.planners.light.logged_runs import StepRole, role_of_subtask
from apps.planners.light.situations import NONE, Act, Situation, situations
from apps.planners.light.templates import SUBTASKS, TEMPLATES
from tests.planners.light.builders import CHECK, COMBINE, PLAN, SOLVE, run, step

INDEX = {"ada": 0, "ben": 1, "cat": 2}


def learned(*steps):
    return list(situations(run(*steps), INDEX))


def test_the_templates_own_subtasks_have_their_roles():
    for template in TEMPLATES:
        for each in template:
            assert role_of_subtask(SUBTASKS[each.role], each.access) is each.role


@pytest.mark.parametrize(
    ("subtask", "access", "expected"),
    [
        ("Outline an approach.", (), PLAN),
        ("Answer the question.", (), SOLVE),
        ("Review the draft.", (), SOLVE),
        ("Check the draft and correct it.", (0,), CHECK),
        ("Compare the answers and check them.", (0, 1), COMBINE),
        ("Answer with the plan.", (0,), SOLVE),
        ("Explain the airplane.", (), SOLVE),
        ("Use the plan to answer.", (0,), SOLVE),
    ],
)
def test_roles_of_other_subtasks(subtask, access, expected):
    assert role_of_subtask(subtask, access) is expected


def test_a_solution_alone():
    assert learned(step("ben", grade=1)) == [Situation(Act.SOLVE, 1, True)]


@pytest.mark.parametrize(("grade", "is_right"), [(0.5, True), (0.49, False)])
def test_a_grade_of_a_half_counts_as_right(grade, is_right):
    assert learned(step("ben", grade=grade))[0].is_right is is_right


def test_a_plan_in_sight_counts_for_solution_and_check():
    assert learned(
        step("ada", PLAN),
        step("ben", SOLVE, [0], 0),
        step("cat", CHECK, [0, 1], 1),
    ) == [
        Situation(Act.SOLVE, 1, False, planner=0),
        Situation(Act.CHECK, 2, True, 0, 0, 1, drafter=1, is_draft_planned=True),
    ]


def test_a_plan_that_is_not_read_does_not_count():
    assert learned(step("ada", PLAN), step("ben", SOLVE, [], 1)) == [
        Situation(Act.SOLVE, 1, True, planner=NONE)
    ]


def test_a_combination_counts_right_and_wrong_drafts():
    found = learned(
        step("ada", grade=1),
        step("ben", grade=0),
        step("cat", COMBINE, [0, 1], 1),
    )
    assert found[-1] == Situation(Act.COMBINE, 2, True, right=1, wrong=1)


def test_a_check_that_reads_nothing_is_a_solution():
    assert learned(step("ada", CHECK, [], 1)) == [Situation(Act.SOLVE, 0, True)]


def test_nothing_is_learned_of_an_answer_without_a_grade():
    assert learned(step("ada")) == []


def test_nothing_is_learned_of_a_check_whose_draft_has_no_grade():
    assert learned(step("ada"), step("ben", CHECK, [0], 1)) == []


@pytest.mark.parametrize("place", [0, 1])
def test_nothing_is_learned_with_an_unknown_worker(place):
    steps = [step("ada", PLAN), step("ben", SOLVE, [0], 1)]
    names = ["ada", "ben"]
    names[place] = "zoe"
    steps = [
        step(name, s.role, s.access, s.grade)
        for name, s in zip(names, steps, strict=True)
    ]
    assert learned(*steps) == []


def test_the_role_enumeration_has_what_templates_use():
    assert {s.role for t in TEMPLATES for s in t} == set(StepRole)
