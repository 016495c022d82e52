"""Probes of a newcomer, and what is drawn of what it may be able to do."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from apps.planners.light.planner import LightPlanner
from apps.planners.light.probes import PROBES, drawn_belief, role_probe
from apps.planners.light.templates import CHECKED, ONE, PLANNED
from tests.planners.light.builders import (
    PLAN,
    SOLVE,
    SUM,
    asked,
    model,
    run,
    step,
    worker,
)

OTHERS = ["ada", "ben", "cat"]
KNOWN = model(
    *[run(step("ada", SOLVE, [], 1))] * 30,
    *[run(step("ben", SOLVE, [], 0))] * 30,
    *[run(step("cat", PLAN), step("ben", SOLVE, [0], 1))] * 30,
    *[run(step("ada", PLAN), step("cat", SOLVE, [0], 0))] * 30,
)


def probe(kind, others=OTHERS, known=KNOWN):
    return role_probe(kind, "new", others, SUM, known, random.Random(1))


def test_partners_are_those_that_are_good_at_their_part():
    assert probe("solve") == (ONE, ("new",))
    assert probe("guided") == (PLANNED, ("cat", "new"))  # whose plans lead to success
    assert probe("plan") == (PLANNED, ("new", "ben"))  # who follows plans best
    assert probe("check") == (CHECKED, ("ada", "new"))  # whose answers are used


def test_without_a_model_partners_are_drawn():
    found = {
        role_probe("check", "new", OTHERS, SUM, None, random.Random(seed))[1]
        for seed in range(40)
    }
    assert found == {(other, "new") for other in OTHERS}


@pytest.mark.parametrize("kind", PROBES)
def test_a_newcomer_without_others_solves(kind):
    assert probe(kind, []) == (ONE, ("new",))


def test_others_that_the_model_does_not_know_are_no_best_partners():
    assert probe("guided", ["zoe", "cat"])[1] == ("cat", "new")
    assert probe("guided", ["zoe"])[1] == ("zoe", "new")


def test_what_is_hardly_known_is_drawn_widely_and_the_rest_stays():
    thin = model(
        *[run(step("ada", SOLVE, [], 1))] * 60,
        *[run(step("ada", SOLVE, [], 0))] * 60,
        run(step("new", SOLVE, [], 1)),
        run(step("new", SOLVE, [], 0)),
        names=("ada", "new", "kim"),
    )
    draws = {
        name: [
            drawn_belief(thin, name, random.Random(seed)).table[0, place, 0]
            for seed in range(200)
        ]
        for place, name in enumerate(thin.workers)
    }
    assert np.std(draws["new"]) > 3 * np.std(draws["ada"])
    one = drawn_belief(thin, "new", random.Random(1))
    ada = thin.workers.index("ada")
    assert (one.table[:, ada] == thin.table[:, ada]).all()
    assert drawn_belief(thin, "zoe", random.Random(1)) is thin


def test_a_drawn_belief_is_not_stored():
    drawn = drawn_belief(KNOWN, "ada", random.Random(1))
    assert drawn.to_bytes() == KNOWN.to_bytes()
    assert replace(drawn, believed=None).table.tolist() == KNOWN.table.tolist()


def test_each_plan_has_the_worker_that_is_required():
    request = asked(worker("ada"), worker("ben"), worker("cat"))
    ranking = LightPlanner(KNOWN, 1).ranking(request, 50, "ben")
    place = ranking.workers.index("ben")
    assert ranking.candidates
    assert all(place in each.workers for each in ranking.candidates)
