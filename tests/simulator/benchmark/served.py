"""Plans of the benchmark, sent step by step as the engine sends them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import httpx

from apps.engine.context import section
from apps.planners.fixed import AGGREGATION, FIRST_ATTEMPT, REFLECTION
from apps.simulator.benchmark.answers import BOLD
from apps.simulator.benchmark.expectations import BenchPlan, expected_score
from apps.simulator.benchmark.tasks import BenchTask
from apps.simulator.briefing import BriefingRole
from tests.simulator.asking import Asker

SUBTASKS: Mapping[BriefingRole, str] = {
    BriefingRole.SOLVE: FIRST_ATTEMPT,
    BriefingRole.PLAN: "Plan how to answer the question, without answering it.",
    BriefingRole.CHECK: REFLECTION,
    BriefingRole.COMBINE: AGGREGATION,
}
Z = 3.2905
"""Standard deviations of a two-sided interval of 99.9 %."""


def message(
    question: str,
    subtask: str,
    access: Iterable[int] = (),
    responses: Iterable[str] = (),
) -> str:
    """Return the prompt of a worker as the engine words it."""
    said = list(responses)
    parts = [section("question", question)]
    for earlier in access:
        parts.append(section("subtask", "An earlier one.", agent=earlier))
        parts.append(section("response", said[earlier], agent=earlier))
    return "\n\n".join([*parts, section("your-subtask", subtask)])


async def final_response(ask: Asker, plan: BenchPlan, task: BenchTask) -> str:
    """Return the response of the plan's last step."""
    said: list[str] = []
    for step in plan:
        text = message(task.question, SUBTASKS[step.role], step.access, said)
        said.append(await ask(step.worker.name, text))
    return said[-1]


def is_right(response: str, task: BenchTask) -> bool:
    """Say whether the short answer in bold is the right one."""
    match = BOLD.search(response)
    return match is not None and match[1] == task.answer


async def observed_and_expected(
    client: httpx.AsyncClient, plan: BenchPlan, tasks: list[BenchTask]
) -> tuple[float, float, float]:
    """Return the observed share right, the expected one, and the interval's half."""
    ask = Asker(client)
    right = [is_right(await final_response(ask, plan, task), task) for task in tasks]
    shares = [expected_score(plan, task.family) for task in tasks]
    variance = sum(share * (1 - share) for share in shares)
    half = (Z * math.sqrt(variance) + 0.5) / len(tasks)  # 0.5: continuity
    return sum(right) / len(tasks), sum(shares) / len(tasks), half
