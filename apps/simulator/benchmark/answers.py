"""Answers of workers with hidden skills, drawn from the table of probabilities.

A worker reads its task, its role and the worth of earlier responses from the text that
it is sent, so only what the access list lets it see can help it. The draw depends on
the seed, the worker, the question, the role and the visible responses: the same
request always gets the same answer, and each step of a chain is a draw of its own.
"""

from __future__ import annotations

import re

from apps.simulator.answers import SIGNATURE, SimulatedAnswer
from apps.simulator.benchmark.behavior import BenchOutcome, outcomes, role_of
from apps.simulator.benchmark.tasks import BenchTask, recognise
from apps.simulator.benchmark.workers import BenchWorker
from apps.simulator.briefing import Briefing, BriefingRole
from apps.simulator.chance import draw, pick

BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
PLAN_TITLE = "Plan"
BAD_METHOD = "Take the numbers or words of the question in any order and guess."
FENCE = re.compile(r"```python\n((?:(?!\n?```).)*+)\n```", re.DOTALL)
UNKNOWN = (
    "I can't answer this: I am a simulated worker that knows a few kinds of tasks, and "
    "this is none of them."
)
REMARKS = {
    BriefingRole.SOLVE: "That is my answer, worked out by me.",
    BriefingRole.CHECK: "I checked the latest answer before mine.",
    BriefingRole.COMBINE: "I weighed the answers before mine.",
}
"""The same for right and wrong answers, so that it gives nothing away."""


def bench_answer(
    worker: BenchWorker, briefing: Briefing, seed: int, begun: str = ""
) -> SimulatedAnswer:
    """Return what `worker` answers to `briefing`.

    An answer that has `begun` is finished with what it claims, right or wrong.
    """
    task = recognise(briefing.part, worker.forms)
    if task is None:
        return SimulatedAnswer("", UNKNOWN)
    seen = [(e.response, worth(task, e.response)) for e in briefing.earlier]
    role = role_of(briefing.role, sees_any=bool(seen))
    visible = (f"{e.agent}\n{e.response}" for e in briefing.earlier)
    facts = ("bench", worker.name, task.question, role.value, *visible)
    table = outcomes(worker, task.family, role, [outcome for _, outcome in seen])
    own = _drawn(table, draw(seed, "outcome", *facts))
    possible = [_wording(task, role, short) for short in _shorts(task, own, seen)]
    chosen = pick(possible, seed, "wording", *facts)
    return _finished(task, role, chosen, begun) if begun else chosen


def worth(task: BenchTask, response: str) -> BenchOutcome:
    """Return what a response to `task` is worth, whoever wrote it."""
    short = _short(task, response) or ""
    if _bold(response).startswith(PLAN_TITLE):
        return (
            BenchOutcome.GOOD_PLAN if task.method in response else BenchOutcome.BAD_PLAN
        )
    if short == task.answer:
        return BenchOutcome.RIGHT
    return BenchOutcome.NEAR if short in task.near_misses else BenchOutcome.LOST


def _short(task: BenchTask, response: str) -> str | None:
    """Return the short answer in a response; None if there is none."""
    if not task.is_code:
        return _bold(response) or None
    block = FENCE.search(response)
    return block[1] if block else None


def _bold(response: str) -> str:
    match = BOLD.search(response)
    return " ".join(match[1].split()) if match else ""


def _drawn(
    table: tuple[tuple[float, BenchOutcome], ...], chance: float
) -> BenchOutcome:
    for share, outcome in table:
        if chance < share:
            return outcome
        chance -= share
    return table[-1][1]


def _shorts(
    task: BenchTask, outcome: BenchOutcome, seen: list[tuple[str, BenchOutcome]]
) -> tuple[str, ...]:
    """Return the short answers that are worth `outcome`, the latest draft's if any."""
    match outcome:
        case BenchOutcome.RIGHT:
            return (task.answer,)
        case BenchOutcome.GOOD_PLAN:
            return (task.method,)
        case BenchOutcome.BAD_PLAN:
            return (BAD_METHOD,)
    drafts = [text for text, worth_ in seen if worth_ is outcome]
    drafted = _short(task, drafts[-1]) if drafts else None
    if drafted is not None:
        return (drafted,)
    return task.near_misses if outcome is BenchOutcome.NEAR else task.far_off


def _wording(task: BenchTask, role: BriefingRole, short: str) -> SimulatedAnswer:
    if role is BriefingRole.PLAN:
        return SimulatedAnswer(short, f"**{PLAN_TITLE}**\n\n{short}")
    shown = f"```python\n{short}\n```" if task.is_code else f"**{short}**"
    return SimulatedAnswer(short, f"{shown}\n\n{REMARKS[role]}")


def _finished(
    task: BenchTask, role: BriefingRole, chosen: SimulatedAnswer, begun: str
) -> SimulatedAnswer:
    plans = (task.method, BAD_METHOD)
    answers = (task.answer, *task.near_misses, *task.far_off)
    shorts = plans if role is BriefingRole.PLAN else answers
    said = begun.partition(SIGNATURE)[0]
    possible = (chosen, *(_wording(task, role, short) for short in shorts))
    found = (a for a in possible if f"{a.text}{SIGNATURE}".startswith(said))
    return next(found, chosen)
