"""What a worker with hidden skills does when it is asked to plan.

Its one skill of planning decides whether it sees what the task needs. If it does, it
writes the plan that suits the family, and gives each step to the model whose
description suits it best; if not, it gives the whole question to one model by chance.
The skills of others are hidden from it as from every planner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.tasks import recognise
from apps.simulator.benchmark.workers import BenchWorker
from apps.simulator.briefing import BriefingRole
from apps.simulator.chance import draw, pick
from apps.simulator.conductor import Access, PlanDraft, SimulatedStep
from apps.simulator.conductor_prompt import ConductorTask, ListedModel

SOLVE, PLAN, CHECK = BriefingRole.SOLVE, BriefingRole.PLAN, BriefingRole.CHECK
SUBTASKS: Mapping[BriefingRole, str] = {
    SOLVE: "Answer the question. State the answer first, in bold.",
    PLAN: "Plan how to solve it, without solving it.",
    CHECK: "Check the answer, correct any mistake, and state it first, in bold.",
}
NUMBERS, WORDS = r"\bcalculat", r"\bwords\b"
TAKE_APART, FOLLOW, CORRECT = r"\bapart\b", r"\binstructions\b", r"\bcorrects\b"
ABLE = r"\beverything\b"
"""Who does a step if no description suits it."""
NEEDS: Mapping[str, tuple[tuple[BriefingRole, str], ...]] = {
    TaskFamily.ARITHMETIC: ((SOLVE, NUMBERS),),
    TaskFamily.UNITS: ((SOLVE, NUMBERS),),
    TaskFamily.REVERSAL: ((SOLVE, WORDS),),
    TaskFamily.CAPITALS: ((SOLVE, WORDS),),
    TaskFamily.WORD_PROBLEMS: ((PLAN, TAKE_APART), (SOLVE, FOLLOW)),
    TaskFamily.TRACING: ((SOLVE, FOLLOW), (CHECK, CORRECT)),
}
"""The steps that a good planner sees, and what it looks for in descriptions."""


def planned(worker: BenchWorker, task: ConductorTask, seed: int) -> PlanDraft:
    """Return the plan that `worker` writes."""
    found = recognise(task.question)
    facts = ("bench planner", worker.name, task.question)
    needs = NEEDS.get(found.family, ()) if found else ()
    is_seen = draw(seed, "good", *facts) < worker.planning
    if not needs or not is_seen or len(needs) > task.max_steps:
        anyone = pick(task.models, seed, "anyone", *facts)
        return PlanDraft("One model is enough.", (_step(anyone.id, SOLVE, ()),))
    steps = tuple(
        _step(described(task.models, words).id, role, "all" if place else ())
        for place, (role, words) in enumerate(needs)
    )
    return PlanDraft("Each step goes to the model that it suits.", steps)


def described(models: Sequence[ListedModel], words: str) -> ListedModel:
    """Return the first model whose description has the words, else an able one."""
    for wanted in (words, ABLE):
        for model in models:
            if re.search(wanted, model.about, re.IGNORECASE):
                return model
    return models[0]


def _step(model: int, role: BriefingRole, access: Access) -> SimulatedStep:
    return SimulatedStep(model, SUBTASKS[role], access)
