"""Nothing that the demo offers to ask ends in "cannot answer"."""

from __future__ import annotations

import pytest

from apps.playground.demo.presets import PRESETS
from apps.simulator import families
from apps.simulator.benchmark.tasks import distinct_tasks
from apps.simulator.benchmark.workers import BENCH_WORKERS
from apps.simulator.examples import examples
from tests.simulator.asking import Asker, conductor_prompt, lists
from tests.simulator.test_office import FILE, notes, preset, ticket

CALCULATION = preset("Check a calculation", calculation="1250 * 12 * 0.19")
PRESET_PROMPTS = {
    "Reply to a customer": ticket(),
    "Check a calculation": CALCULATION,
    "Sum up a meeting": notes(),
}
SAMPLES = (
    *families.EXAMPLES,
    *(turn.prompt for example in examples() for turn in example.turns[:1]),
    *(task.question for task in distinct_tasks(12, seed=7)),
)
FOREIGN = (
    "Should our bank allow remote work?",
    "How is VAT charged on services that we sell to a customer in France?",
    "Write an email to a supplier who is two weeks late.",
    "Hello",
)


def test_every_preset_of_the_demo_has_an_example_here() -> None:
    assert {str(values["name"]) for values in PRESETS} == set(PRESET_PROMPTS)


@pytest.mark.parametrize("worker", [worker.name for worker in BENCH_WORKERS])
@pytest.mark.parametrize("prompt", [*SAMPLES, *PRESET_PROMPTS.values(), FILE])
async def test_each_worker_of_the_demo_answers_it(
    ask: Asker, worker: str, prompt: str
) -> None:
    answer = await ask(worker, prompt)
    assert "cannot answer" not in answer and "can't answer" not in answer


@pytest.mark.parametrize("prompt", FOREIGN)
async def test_what_nobody_can_answer_is_planned_as_one_step(
    ask: Asker, prompt: str
) -> None:
    models, _, _ = lists(await ask("sim-conductor", conductor_prompt(prompt)))
    assert len(models) == 1
    answer = await ask("bench-coding", prompt)
    assert "I can calculate" in answer and "Try: What is 17" in answer
