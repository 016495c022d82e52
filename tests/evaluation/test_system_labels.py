"""Systems are told apart by their settings, and their labels say so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.evaluation.reports.comparison import compare
from apps.evaluation.settings import EvaluationSettings
from tests.evaluation.samples import documents
from tests.evaluation.test_driver import ended, start

ONE, OTHER = (
    "0199c0de-0000-7000-8000-00000000000a",
    "0199c0de-0000-7000-8000-00000000000b",
)
VARIANTS: Mapping[str, tuple[dict[str, object], ...]] = {
    "tier": (
        {"tier": "ultra"},
        {"tier": "ultra", "max_rounds": 2},
        {"tier": "ultra", "max_steps": 2},
        {"tier": "ultra", "conductor": "a"},
        {"tier": "ultra", "workers": ["a", "b"]},
        {"tier": "ultra", "workers": ["a", "c"]},
    ),
    "mixture_of_agents": (
        {"workers": ["a", "b"], "aggregator": "d"},
        {"workers": ["a", "c"], "aggregator": "d"},
        {"workers": ["a", "b"], "aggregator": "c"},
    ),
    "self_reflection": ({"worker": "a"}, {"worker": "a", "turns": 3}),
    "random_plan": ({}, {"max_steps": 2}),
    "given_plans": (
        {"name": "x", "others": [{"worker": "a", "subtask": "Solve it."}]},
        {"name": "x", "others": [{"worker": "b", "subtask": "Solve it."}]},
    ),
    "samples": ({"worker": "a"}, {"worker": "a", "samples": 2}),
    "smoothie": ({"measured_by": ONE}, {"measured_by": OTHER}),
    "cascade": (
        {"cheap": "a", "strong": "b", "measured_by": ONE},
        {"cheap": "a", "strong": "b", "measured_by": OTHER},
        {"cheap": "a", "strong": "c", "measured_by": ONE},
    ),
    "worker_per_family": ({"measured_by": ONE}, {"measured_by": OTHER}),
    "nearest_neighbors": (
        {"measured_by": ONE},
        {"measured_by": OTHER},
        {"measured_by": ONE, "neighbors": 3},
    ),
}


@pytest.mark.parametrize("kind", VARIANTS)
def test_different_systems_of_a_kind_have_different_labels(kind):
    systems = [{"kind": kind, **given} for given in VARIANTS[kind]]
    found = values_read(EvaluationSettings, {"pool": "x", "systems": systems}).systems
    assert len({system.label for system in found}) == len(systems)


@pytest.mark.parametrize("kind", VARIANTS)
def test_the_same_system_is_not_there_twice(kind):
    system = {"kind": kind, **VARIANTS[kind][0]}
    with pytest.raises(InvalidFields, match="there twice"):
        values_read(EvaluationSettings, {"pool": "x", "systems": [system, system]})


def test_other_mixtures_of_the_same_size_are_not_compared(site):
    site.add_worker("echo")
    tasks = documents()[:2]

    def mixture(*workers: str) -> dict[str, object]:
        given = {"workers": workers, "aggregator": "echo"}
        return {"kind": "mixture_of_agents", **given}

    both = mixture("sim-delta", "echo"), mixture("sim-delta", "sim-birch")
    first = ended(start(site, *both, tasks=tasks))
    second = ended(start(site, mixture("sim-delta", "sim-birch"), tasks=tasks))
    (found,) = compare(first, second).systems
    assert found.label == "mixture of agents (sim-delta, sim-birch → echo)"
    third = ended(start(site, mixture("sim-birch", "sim-delta"), tasks=tasks))
    assert compare(second, third).systems == ()
