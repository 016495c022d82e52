"""A model follows what is graded after its fit, and notices broken promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from apps.planners.light.live.adaptation import (
    Ability,
    AdaptationSettings,
    Cell,
    GradedObservation,
    adapted,
)
from apps.planners.light.live.hidden_grades import possibilities
from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.planner import LightPlanner
from tests.planners.light.builders import (
    CHECK,
    COMBINE,
    PLAN,
    STORY,
    SUM,
    asked,
    model,
    run,
    step,
    worker,
)

ADA, BEN, CAT = range(3)
WORKERS = tuple(worker(name) for name in ("ada", "ben", "cat"))
SUMS, STORIES = 0, 1


def fitted():
    """Return a model to which ada is right with sums, ben nearly so, cat never."""
    return model(
        *[run(step("ada", grade=1))] * 60,
        *[run(step("ben", grade=1))] * 48,
        *[run(step("ben", grade=0))] * 12,
        *[run(step("cat", grade=0))] * 60,
        *[run(step("cat", grade=1), prompt=STORY)] * 60,
    )


def observations(*runs: LoggedRun, kind: int = SUMS) -> list[GradedObservation]:
    return [GradedObservation(f"run-{n:02}", kind, one) for n, one in enumerate(runs)]


def alone(found, prompt: str = SUM) -> str:
    """Return the worker that answers alone."""
    planner = LightPlanner(found, 1)
    ranking = planner.ranking(asked(*WORKERS, prompt=prompt, max_steps=1))
    return ranking.workers[ranking.candidates[0].workers[0]]


def test_a_skill_that_is_lost_is_noticed_and_another_worker_answers():
    before = fitted()
    assert alone(before) == "ada"
    found = adapted(before, observations(*[run(step("ada", grade=0))] * 12))
    (broken,) = found.broken
    assert broken.cell == Cell(Ability.ANSWER, ADA, SUMS)
    assert broken.promised > 0.9
    assert broken.observed == 0
    assert alone(found.model) == "ben"
    assert found.model.tables(SUMS).solve[ADA] < 0.4
    assert alone(found.model, STORY) == "cat"


def test_as_many_answers_as_promised_break_nothing_and_raise_what_is_known():
    before = fitted()
    found = adapted(before, observations(*[run(step("ada", grade=1))] * 200))
    assert found.broken == ()
    assert found.model.tables(SUMS).solve[ADA] >= before.tables(SUMS).solve[ADA]


def test_the_fitted_model_stays_as_it_is():
    before = fitted()
    seen = before.profiles.seen.copy()
    adapted(before, observations(*[run(step("ada", grade=0))] * 30))
    assert np.array_equal(before.profiles.seen, seen)
    assert alone(before) == "ada"


def test_what_was_dismissed_is_watched_again_from_then_on():
    runs = observations(*[run(step("ada", grade=0))] * 24)
    before = fitted()
    cell = adapted(before, runs[:12]).broken[0].cell
    quiet = adapted(before, runs[:12], unwatched={cell: "run-12"})
    assert quiet.broken == ()
    discounted = adapted(before, runs[:12]).model.tables(SUMS).solve[ADA]
    assert quiet.model.tables(SUMS).solve[ADA] > discounted + 0.2
    later = adapted(before, runs, unwatched={cell: "run-12"}).broken
    assert [one.cell for one in later] == [cell]
    assert later[0].run_id > "run-12"


def test_the_same_observations_lead_to_the_same_model():
    grades = [n % 3 == 0 for n in range(40)]
    runs = observations(*[run(step("ada", grade=float(right))) for right in grades])
    first, second = adapted(fitted(), runs), adapted(fitted(), runs)
    assert first.broken == second.broken
    assert first.model.to_bytes() == second.model.to_bytes()


def test_newer_answers_weigh_more_than_older_ones():
    settings = AdaptationSettings(half_life_answers=10)
    right, wrong = run(step("cat", grade=1)), run(step("cat", grade=0))
    rising = adapted(fitted(), observations(*[wrong] * 20, *[right] * 20), settings)
    falling = adapted(fitted(), observations(*[right] * 20, *[wrong] * 20), settings)
    assert rising.model.tables(SUMS).solve[CAT] > 0.55
    assert falling.model.tables(SUMS).solve[CAT] < 0.25


def test_an_old_observation_counts_less_but_is_never_forgotten():
    right = observations(*[run(step("cat", grade=1))] * 5)
    old = [replace(one, age_days=90.0) for one in right]
    ancient = [replace(one, age_days=9_000.0) for one in right]
    by_age = [
        adapted(fitted(), some).model.profiles.right[0, CAT, SUMS]
        for some in (right, old, ancient)
    ]
    assert by_age[0] > by_age[1] > by_age[2] > 0


def test_answers_of_unknown_workers_are_left_out():
    found = adapted(fitted(), observations(*[run(step("dan", grade=0))] * 50))
    assert found.broken == ()


def test_a_draft_that_was_hardly_right_counts_against_its_worker():
    """Only the last answer is graded, and its checker keeps what is right."""
    kept = run(step("ada", grade=1), step("ben", CHECK, [0], 1))
    spoiled = run(step("ada", grade=0), step("ben", CHECK, [0], 0))
    before = model(*[kept] * 60, *[spoiled] * 10)
    checked = run(step("ada"), step("ben", CHECK, [0], 0))
    found = adapted(before, observations(*[checked] * 10))
    lost = before.tables(SUMS).solve[ADA] - found.model.tables(SUMS).solve[ADA]
    assert lost > 0.05


@pytest.mark.parametrize("grade", [0.0, 1.0])
def test_the_ways_of_a_run_share_its_likelihood(grade):
    answers = run(step("ada"), step("ben"), step("cat", COMBINE, [0, 1], grade))
    index_of = {"ada": ADA, "ben": BEN, "cat": CAT}
    ways = possibilities(answers, index_of, lambda one: 0.1 + 0.4 * one.right)
    assert len(ways) == 4
    assert sum(way.share for way in ways) == pytest.approx(1)
    all_right = next(way for way in ways if way.situations[-1].right == 2)
    # Drafts are right in 0.1 of cases each; combined 0.1, 0.5 and 0.9 by right drafts.
    last = {0: 0.1, 1: 0.5, 2: 0.9}
    likely = {n: last[n] if grade else 1 - last[n] for n in last}
    total = 0.81 * likely[0] + 0.18 * likely[1] + 0.01 * likely[2]
    assert all_right.share == pytest.approx(0.01 * likely[2] / total)


def test_a_run_without_a_grade_has_one_way_that_says_nothing():
    unknown = run(step("ada", PLAN), step("ben", access=[0]))
    (way,) = possibilities(unknown, {"ada": ADA, "ben": BEN}, lambda one: 0.5)
    assert way == (1.0, ())


def test_a_planner_that_misleads_is_noticed_too():
    before = model(*[run(step("ada", PLAN), step("ben", access=[0], grade=1))] * 60)
    misled = run(step("ada", PLAN), step("ben", access=[0], grade=0))
    found = adapted(before, observations(*[misled] * 12))
    assert {one.cell for one in found.broken} == {
        Cell(Ability.PLAN, ADA, SUMS),
        Cell(Ability.ANSWER, BEN, SUMS),
    }


def test_another_model_behind_a_name_is_learned_of_anew():
    before = replace(fitted(), fingerprints={"ada": "old", "ben": "same"})
    wrong = run(step("ada", grade=0))
    runs = [
        replace(one, fingerprints={"ada": "new", "ben": "same"})
        for one in observations(*[wrong] * 6)
    ]
    found = adapted(before, runs).model
    assert found.fingerprints == {"ada": "new", "ben": "same"}
    assert found.known_now({"ada": "new"}) is found
    assert alone(found) == "ben"
    assert alone(adapted(before, observations(wrong)).model) == "ada"


def test_who_may_be_at_fault_with_another_bears_half_the_blame():
    """Wrong answers by a plan say that the plan or the answer is wrong, not which."""
    ways = [("ada", "ben"), ("cat", "ben"), ("ada", "cat")]
    before = model(
        *[
            run(step(planner, PLAN), step(solver, access=[0], grade=1))
            for planner, solver in ways * 40
        ]
    )
    misled = run(step("ada", PLAN), step("ben", access=[0], grade=0))
    guided = adapted(before, observations(*[misled] * 12)).model.tables(SUMS).guided
    assert guided[ADA, BEN] < 0.35
    assert 0.55 < guided[CAT, BEN] < 0.8
    assert 0.55 < guided[ADA, CAT] < 0.8
