"""Kinds with two sets of centres: by the vector of an embedding worker, or n-grams."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from apps.engine.plan import Plan
from apps.engine.ports import PlanRequest
from apps.engine.vectors.prompt_vectors import PromptVector
from apps.planners.cascade import PlannerCascade
from apps.planners.fixed import SingleWorkerPlanner
from apps.planners.light.explanation import in_words
from apps.planners.light.kinds import EmbeddedCentres, Kinds
from apps.planners.light.model import LightModel, UnreadableModel
from apps.planners.light.planner import LightPlanner
from tests.planners.light.builders import (
    SOLVE,
    STORY,
    SUM,
    asked,
    kinds,
    model,
    run,
    step,
    worker,
)

KNOWN = model(
    *[run(step("ada", SOLVE, [], 1))] * 9,
    *[run(step("ben", SOLVE, [], 1), prompt=STORY)] * 9,
    *[run(step("ben", SOLVE, [], 0))] * 9,
    *[run(step("ada", SOLVE, [], 0), prompt=STORY)] * 9,
)


def embedded(**given: object) -> EmbeddedCentres:
    values = {
        "worker": "e",
        "model": "small-1",
        "centres": np.array([[0.9, 0.0], [0.0, 0.8]]),
        "nearness": np.array([0.9, 0.9]),
        **given,
    }
    return EmbeddedCentres(**values)  # type: ignore[arg-type]


MODEL = replace(KNOWN, kinds=replace(KNOWN.kinds, embedded=embedded()))


def vector(*numbers: float) -> PromptVector:
    return PromptVector(np.array(numbers, "<f4").tobytes())


def request(made: PromptVector, prompt: str = STORY) -> PlanRequest:
    """Return a request whose prompt has a vector, or none."""

    async def given() -> PromptVector:
        return made

    request = asked(worker("ada"), worker("ben"), prompt=prompt, max_steps=1)
    return replace(request, vector=given)


async def unasked(messages, params):
    raise AssertionError("no conductor is asked")


async def planned(made: PromptVector, prompt: str = STORY) -> Plan:
    plan = await LightPlanner(MODEL, 7).plan(request(made, prompt), unasked)
    assert plan is not None
    return plan


async def test_the_vector_of_the_prompt_decides_its_kind():
    """By its words it is a story, which ben knows; by its vector a sum, ada's."""
    plan = await planned(vector(2.0, 0.1))
    assert [each.worker for each in plan.steps] == ["ada"]
    said = json.loads(plan.explanation)
    assert said["features"] == {"by": "embedding", "worker": "e", "missing": ""}
    assert "n-grams" not in plan.reasoning


@pytest.mark.parametrize(
    "made",
    [
        PromptVector(missing="'e' failed (total_timeout)"),
        vector(1.0),
        vector(1.0, 0.0, 0.0),
        vector(0.0, 0.0),
        vector(float("nan"), 1.0),
        vector(float("inf"), 1.0),
    ],
)
async def test_without_a_usable_vector_n_grams_decide_within_the_same_kinds(made):
    plan = await planned(made)
    assert [each.worker for each in plan.steps] == ["ben"]
    said = json.loads(plan.explanation)
    assert said["kind"] == 1
    features = said["features"]
    assert (features["by"], features["worker"]) == ("ngrams", "e")
    assert features["missing"] == (made.missing or features["missing"]) != ""
    assert features["missing"] in plan.reasoning


async def test_a_version_without_embeddings_asks_for_no_vector():
    async def never() -> PromptVector:
        raise AssertionError("no vector is needed")

    asks = replace(request(vector(1.0, 0.0)), vector=never)
    plan = await LightPlanner(KNOWN, 7).plan(asks, unasked)
    assert plan is not None
    assert json.loads(plan.explanation)["features"] is None


async def test_a_cascade_is_sure_by_the_vector():
    cascade = PlannerCascade(LightPlanner(MODEL, 7), SingleWorkerPlanner("ada"))
    plan = await cascade.plan(request(vector(1.0, 0.0)), unasked)
    assert plan is not None
    assert json.loads(plan.explanation)["features"]["by"] == "embedding"
    strange = await cascade.plan(request(vector(-1.0, -1.0)), unasked)
    assert strange is not None
    assert strange.explanation == ""  # unlike everything, so the second planner made it


def test_plans_made_ahead_are_by_n_grams():
    pool = request(PromptVector()).pool
    (plan,) = LightPlanner(MODEL, 7).plans(STORY, pool, 1, 1)
    assert [each.worker for each in plan.steps] == ["ben"]


def test_it_is_read_back_as_it_was():
    read = LightModel.from_bytes(MODEL.to_bytes())
    found = read.kinds.embedded
    assert found is not None
    assert (found.worker, found.model, found.width) == ("e", "small-1", 2)
    assert np.allclose(found.centres, embedded().centres)
    assert read.to_bytes() == MODEL.to_bytes() != KNOWN.to_bytes()


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return the stored form with a changed head or changed arrays."""
    with np.load(io.BytesIO(MODEL.to_bytes())) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["head"] = json.loads(arrays["head"].tobytes())
    change(arrays)
    arrays["head"] = np.frombuffer(json.dumps(arrays["head"]).encode(), np.uint8)
    written = io.BytesIO()
    np.savez(written, **arrays)
    return written.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.pop("embedded_centres"),
        lambda arrays: arrays["head"]["embedding"].update(width=3),
        lambda arrays: arrays["head"]["embedding"].pop("model"),
        lambda arrays: arrays.update(embedded_centres=np.zeros((1, 2))),
        lambda arrays: arrays.update(embedded_centres=np.zeros(2)),
    ],
)
def test_broken_centres_are_no_model(change):
    with pytest.raises(UnreadableModel):
        LightModel.from_bytes(changed(change))


def test_old_documents_know_no_embeddings():
    stored = changed(lambda arrays: arrays["head"].pop("embedding"))
    assert LightModel.from_bytes(stored).kinds.embedded is None


def test_kinds_refuse_other_centres():
    rows = kinds(SUM, STORY)
    with pytest.raises(ValueError, match="expected 2 centres"):
        Kinds(rows.centres, rows.kinds, (), embedded(centres=np.ones((3, 2))))


def test_words_say_why_there_is_no_vector():
    said = {
        "explored": None,
        "is_familiar": True,
        "source": "fitted",
        "runner_up": None,
        "cheaper": None,
        "chosen": {
            "steps": [],
            "success": 1.0,
            "low": 0.9,
            "high": 1.0,
            "cost_micros": 0,
        },
        "answer_worth_micros": None,
        "features": {"by": "ngrams", "worker": "e", "missing": "it is away"},
    }
    assert "without the vector of e: it is away." in in_words(said)
