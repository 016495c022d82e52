"""What cost weighed before a right answer had a worth: migrations, and old files."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.evaluation.settings import EvaluationSettings
from apps.pools.attributes import TierDocument
from apps.training.trainings.settings import TrainingPlan

of_pools = import_module("apps.pools.migrations.0025_worths_of_cost_weights")
of_evaluations = import_module("apps.evaluation.migrations.0014_former_cost_weights")
of_trainings = import_module("apps.training.migrations.0009_worths_of_cost_weights")


@pytest.mark.parametrize(
    ("percent", "dearest", "worth"),
    [
        (4, 400.0, None),
        (0, 400.0, 10_000_000_000),
        (8, 400.0, 5_000),
        (8, 0, None),
        (8, None, None),
        (100, 0.001, 1),
    ],
)
def test_a_percentage_becomes_money_by_the_dearest_answer(percent, dearest, worth):
    assert of_pools.worth(percent, dearest) == worth


def test_documents_of_versions_get_the_worth_of_their_tiers():
    tiers: dict[str, dict[str, Any]] = {
        "mini": {"max_steps": 1, "cost_weight_percent": 4},
        "ultra": {"max_steps": 5, "cost_weight_percent": 8},
    }
    found = of_pools.turned({"name": "main", "tiers": tiers}, 400.0)
    assert found["tiers"] == {
        "mini": {"max_steps": 1, "answer_worth_usd": None},
        "ultra": {"max_steps": 5, "answer_worth_usd": "0.005"},
    }
    assert values_read(TierDocument, found["tiers"]["ultra"]).answer_worth_usd
    assert of_pools.turned(found, 400.0) == found


def test_systems_of_evaluations_stay_apart():
    light = {"kind": "light_planner", "version": 2}
    systems = [{**light, "cost_weight_percent": weight} for weight in (4, 2)]
    found = of_evaluations.renamed({"pool": "main", "systems": systems})
    labels = [s.label for s in EvaluationSettings.model_validate(found).systems]
    assert labels == [
        "light planner (version 2)",
        "light planner (version 2, worth of cost 2 %)",
    ]


def test_settings_of_trainings_can_be_read():
    for percent, worth in ((4, None), (0, 10_000_000_000), (7, None)):
        found = of_trainings.turned({"seed": 3, "cost_weight_percent": percent})
        assert TrainingPlan.model_validate(found).answer_worth_micros == worth
    assert of_trainings.turned({"seed": 3}) == {"seed": 3}


def test_a_pool_file_of_before_with_the_usual_weight_is_read():
    found = values_read(TierDocument, {"cost_weight_percent": 4, "max_steps": 2})
    assert (found.max_steps, found.answer_worth_usd) == (2, None)


def test_a_pool_file_of_before_with_another_weight_is_told_what_to_write():
    with pytest.raises(InvalidFields) as caught:
        values_read(TierDocument, {"cost_weight_percent": 0})
    assert "has become answer_worth_usd" in str(caught.value.fields)
