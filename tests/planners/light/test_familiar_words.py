"""Questions about other things are told apart by their words."""

from __future__ import annotations

import random
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from apps.planners.light.familiar_words import FamiliarWords, familiar_words
from apps.planners.light.kinds import EmbeddedCentres
from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner
from apps.simulator.benchmark.workers import ROSTERS
from bench.learning_world import request, tasks
from tests.planners.builders import unasked
from tests.planners.light.builders import STORY, SUM, model, run, step

ROOT = Path(__file__).parents[3]
FOREIGN = (
    "Should our bank allow remote work?",
    "How is VAT charged on services that we sell to a customer in France?",
    "What are the pros and cons of a four-day week?",
    "Write an email to a supplier who is two weeks late.",
    "Which laptop should we buy for the design team?",
    "What is the difference between a ledger and a log?",
    "Write a SQL query for the top ten customers by revenue.",
    "Who wrote Hamlet?",
    "How do I cook rice?",
    "Is it legal to record a phone call?",
    "What should a landlord pay back when a tenant leaves early?",
    "A ball is dropped from a tower. Which force acts on it while it falls?",
)


@pytest.fixture(scope="module")
def shipped() -> LightModel:
    """Return the planner that comes with the demo."""
    with zipfile.ZipFile(ROOT / "deploy/demo_files/planner.zip") as archive:
        return LightModel.from_bytes(archive.read("model.npz"))


def is_familiar(found: LightModel, prompt: str) -> bool:
    return found.is_familiar(prompt, found.placed(prompt)[1])


def prompts(count: int, seed: int) -> list[str]:
    return [task.question for task in tasks(count, seed)]


@pytest.mark.parametrize("seed", range(20))
def test_nearly_all_new_prompts_of_the_same_sort_are_familiar(seed: int) -> None:
    found = familiar_words(prompts(300, seed))
    assert found is not None
    new = prompts(200, 1_000 + seed)
    assert np.mean([found.likeness(prompt) < 0.75 for prompt in new]) <= 0.05
    assert np.mean([found.likeness(prompt) < 0.75 for prompt in FOREIGN]) >= 0.8


def test_prompts_that_have_little_in_common_make_nothing_unfamiliar() -> None:
    chance = random.Random(0)
    letters = "abcdefghij"
    mixed = [
        " ".join("".join(chance.choices(letters, k=6)) for _ in range(8))
        for _ in range(100)
    ]
    found = familiar_words(mixed)
    assert found is not None
    assert found.likeness("Who wrote Hamlet?") == 1


def test_a_word_of_one_prompt_alone_is_not_kept() -> None:
    found = familiar_words([f"Compute {n} plus {n}, {chr(97 + n)}x" for n in range(25)])
    assert found is not None
    assert len(found.hashes) == 3  # compute, plus and any number


def test_few_prompts_say_nothing_of_others() -> None:
    assert familiar_words(["Compute 12 * 3."] * 500) is None
    known = model(run(step("ada", grade=1)))
    assert known.words is None
    assert is_familiar(known, SUM)


def test_a_model_keeps_its_words() -> None:
    words = FamiliarWords(np.array([3, 5], np.uint32), 0.5)
    stored = replace(model(run(step("ada", grade=1))), words=words).to_bytes()
    again = LightModel.from_bytes(stored).words
    assert again is not None
    assert (again.hashes.tolist(), again.usual) == ([3, 5], 0.5)


def test_a_model_from_before_words_were_kept_loads() -> None:
    stored = model(run(step("ada", grade=1))).to_bytes()
    assert LightModel.from_bytes(stored).words is None


def test_a_vector_is_believed_without_words() -> None:
    words = FamiliarWords(np.array([3], np.uint32), 0.9)
    known = replace(model(run(step("ada", grade=1))), words=words)
    vectors = EmbeddedCentres("vectors", "m", np.eye(2), np.array([0.8, 0.7]))
    embedded = replace(known, kinds=replace(known.kinds, embedded=vectors))
    assert not embedded.is_familiar(STORY, 1.0)
    assert embedded.is_familiar(STORY, 1.0, np.array([1.0, 0.0]))


def test_every_task_that_the_demo_was_measured_on_is_familiar(
    shipped: LightModel,
) -> None:
    """So its figures are those of the plans that it makes."""
    rows = map(
        orjson.loads, (ROOT / "docs/suites/simulated.jsonl").read_bytes().splitlines()
    )
    held_out = [row["prompt"] for row in rows if row["split"] == "held_out"]
    assert len(held_out) == 240
    assert all(is_familiar(shipped, prompt) for prompt in held_out)


@pytest.mark.parametrize("prompt", FOREIGN)
async def test_the_demo_plans_one_step_for_a_foreign_question(
    shipped: LightModel, prompt: str
) -> None:
    planner = LightPlanner(shipped, 1)
    asked = request(prompt, ROSTERS["strong"])
    assert await planner.is_unsure(asked)
    plan = await planner.plan(asked, unasked)
    assert plan is not None
    assert len(plan.steps) == 1
    assert "Over all kinds of prompts, bench-" in plan.reasoning
