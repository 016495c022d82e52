"""The site's default: plans from the profiles of a calibration alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.planners.light.site_default import (
    PATH,
    FamilyProfile,
    site_default_digest,
    site_default_model,
)
from apps.planners.light.sources import ModelSource
from apps.planners.light.step_model import step_features
from apps.simulator.benchmark.workers import ROSTERS
from bench.learning_scores import held_out, planned
from bench.learning_site_default import (
    DEFAULT,
    PER_FAMILY,
    SINGLE,
    by_rule,
    default_model,
)
from tests.planners.builders import unasked
from tests.planners.light import samples
from tests.planners.light.builders import STORY, SUM, asked, worker

POOL = [worker("ada"), worker("ben")]
PROMPTS = {"sums": [SUM, "Compute 4 * 7."], "stories": [STORY]}
CALIBRATED = {
    "ada": {"sums": FamilyProfile(20, 19, 3_000), "stories": FamilyProfile(20, 2, 900)},
    "ben": {"sums": FamilyProfile(20, 1, 400), "stories": FamilyProfile(20, 18, 400)},
}
MODEL = site_default_model(CALIBRATED, PROMPTS)


async def chosen(prompt: str, max_steps: int = 1):
    plan = await LightPlanner(MODEL, 3).plan(
        asked(*POOL, prompt=prompt, max_steps=max_steps), unasked
    )
    assert plan is not None
    return plan, json.loads(plan.explanation)


async def test_each_family_goes_to_the_worker_that_was_good_at_it():
    plan, said = await chosen(SUM)
    assert [step.worker for step in plan.steps] == ["ada"]
    assert said["kind_words"] == "sums"
    plan, said = await chosen(STORY)
    assert [step.worker for step in plan.steps] == ["ben"]


async def test_a_plan_says_that_it_is_by_the_sites_default():
    plan, said = await chosen(SUM)
    assert said["source"] == "site_default"
    assert plan.reasoning.startswith("By the site's default")


def test_a_worker_that_writes_more_costs_more():
    solve = MODEL.tokens.outputs[1]
    assert solve[0] > 3 * solve[1]


def test_it_survives_being_stored():
    again = LightModel.from_bytes(MODEL.to_bytes())
    assert again.source is ModelSource.SITE_DEFAULT
    assert (again.tables(0).check == MODEL.tables(0).check).all()


def test_the_shipped_file_is_small_and_fits_the_step_model():
    assert PATH.stat().st_size < 100_000
    assert len(site_default_digest()) == 64
    weights = json.loads(PATH.read_text())["weights"]
    width = step_features(np.full((4, 6, 6), 0.5), samples.ROWS).shape[1]
    assert len(weights) == width


@pytest.mark.parametrize("seed", [0, 1])
def test_one_calibration_beats_the_best_worker_by_far(seed):
    """20 answers of a worker to each family of the simulated benchmark; exact.

    The best worker of each family is nearly as good, on the average, and sometimes
    better.
    """
    strong = ROSTERS["strong"]
    model, profiles = default_model(strong, 20, seed)
    held = held_out(strong, "fixed")
    found = {DEFAULT: planned(model, held), **by_rule(profiles, held)}
    assert found[DEFAULT]["success"] > found[SINGLE]["success"] + 0.07
    assert found[DEFAULT]["success"] > found[PER_FAMILY]["success"] - 0.03
