"""What the conductor that ships is fitted on: valid plans, by the cards of a prompt."""

from __future__ import annotations

import pytest

from apps.engine.plan import validate
from apps.planners.list_plan_parser import parse_lists
from apps.simulator.benchmark.workers import ROSTERS
from apps.training.conductor.examples import ExpertExample
from apps.training.fitting.light import fit_light
from bench.learning_world import explored
from bench.tiny_conductor_fit import MOST_STEPS, examples

RUNS = 600
NOT_MEASURED = "not measured"


@pytest.fixture(scope="module")
def made() -> list[ExpertExample]:
    roster = ROSTERS["strong"]
    runs = explored(RUNS, 0, roster)
    model = fit_light([*runs], [worker.name for worker in roster]).model
    return [each for each, _ in zip(examples(model, 1), range(400), strict=False)]


def test_each_reply_is_a_plan_of_the_workers_in_the_prompt(made) -> None:
    for example in made:
        for reply in example.completions:
            plan = parse_lists(reply, example.workers)
            assert plan is not None
            validate(plan, workers=example.workers, max_steps=MOST_STEPS)


def test_some_prompts_show_no_worker_and_some_not_all(made) -> None:
    hidden = [each.prompt.count(NOT_MEASURED) for each in made]
    sizes = [len(each.workers) for each in made]
    pairs = list(zip(hidden, sizes, strict=True))
    assert any(count == size for count, size in pairs)
    assert any(0 < count < size for count, size in pairs)
    assert sum(not count for count in hidden) > len(made) / 2


def test_a_worker_that_is_not_measured_beside_others_is_in_no_plan(made) -> None:
    for example in made:
        cards = example.prompt.splitlines()[: len(example.workers)]
        unknown = {
            name
            for name, card in zip(example.workers, cards, strict=True)
            if NOT_MEASURED in card
        }
        if len(unknown) == len(cards):
            continue
        for reply in example.completions:
            plan = parse_lists(reply, example.workers)
            assert plan is not None
            assert not unknown & {step.worker for step in plan.steps}
