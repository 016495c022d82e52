"""The simulated conductor: decides who does what, and writes it as a real one would.

Facts and other simple questions get one step, calculations two independent attempts
and an aggregator, code a plan, the code and a check, several questions in one a step
each. Source of the habits and of the output format: arXiv 2512.04388.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from apps.simulator import examples, families
from apps.simulator.briefing import last_turn
from apps.simulator.conductor_prompt import ConductorTask, ListedModel
from apps.simulator.families.solution import Family
from apps.simulator.follow_ups import meant, revised
from apps.simulator.office import office_task
from apps.simulator.suitability import Chooser, Need

Access = tuple[int, ...] | Literal["all"]
CALCULATIONS = (Family.ARITHMETIC, Family.STORIES, Family.TRACING)
"""What is worked out twice."""


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    """One step of a plan."""

    model: int
    subtask: str
    access: Access = ()


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """A plan in the conductor's own terms; no steps means "keep the answer"."""

    reasoning: str
    steps: tuple[SimulatedStep, ...]


Shape = Callable[[ConductorTask, Chooser], PlanDraft]
"""What a conductor makes of a question."""


def plan(task: ConductorTask, seed: int, shape: Shape | None = None) -> PlanDraft:
    """Return the plan for `task`; `shape` replaces the habits of this module."""
    if task.rounds and not task.has_failed:
        return PlanDraft(
            "The previous answer stands; another round would add nothing.", ()
        )
    chooser = Chooser(_candidates(task), seed, task.question)
    draft = _callable(task, chooser, (shape or _shaped)(task, chooser))
    if task.rejections:
        opening = "My last plan was refused, so this one keeps to the rules. "
    elif task.has_failed:
        opening = "The previous round failed, so this plan avoids who failed in it. "
    else:
        opening = ""
    return PlanDraft(opening + draft.reasoning, draft.steps)


def _candidates(task: ConductorTask) -> tuple[ListedModel, ...]:
    able = tuple(m for m in task.models if not task.seeing or m.id in task.seeing)
    healthy = tuple(m for m in able if m.id not in task.avoided)
    return healthy or able or task.models


def _callable(task: ConductorTask, chooser: Chooser, draft: PlanDraft) -> PlanDraft:
    """Give the last step to a model that can call the user's functions."""
    *before, last = draft.steps
    if not task.calling or last.model in task.calling:
        return draft
    unable = tuple(m.id for m in task.models if m.id not in task.calling)
    model = chooser.best(Need.GENERAL, excluded=unable)
    note = f" Model {model} comes last, because it can call functions."
    steps = (*before, replace(last, model=model))
    return PlanDraft(draft.reasoning + note, steps)


def _shaped(task: ConductorTask, chooser: Chooser) -> PlanDraft:
    question = last_turn(task.question)
    example = examples.prepared_turn(question)
    if example and len(example.steps) <= task.max_steps:
        return _prepared(example, chooser)
    if (text := office_task(question)) and task.max_steps >= 2:
        return _on_texts(text.kind, chooser)
    if revised(task.question) and task.max_steps >= 2:
        return _on_texts("earlier program", chooser)
    parts = families.split(question)
    if parts and len(parts) < task.max_steps:
        return _several(parts, chooser)
    solved = families.solve(question)
    other = next(filter(families.solve, meant(task.question)), None)
    if solved is None and other:
        return _shaped(replace(task, question=other), chooser)
    if solved is None:  # nobody can answer it, so one says so
        return single_answer(Need.GENERAL, chooser)
    if solved.family in CALCULATIONS and task.max_steps >= 3:
        return _attempts(chooser)
    if solved.family is Family.CODE and task.max_steps >= 3:
        return _program(chooser)
    return single_answer(Need.of(solved.family), chooser)


def single_answer(need: Need, chooser: Chooser) -> PlanDraft:
    """Return the plan in which one model answers alone."""
    model = chooser.best(need)
    return PlanDraft(
        f"This is one simple {need.noun}. Model {model} can answer it alone; more "
        "steps would only cost more.",
        (
            SimulatedStep(
                model, "Answer the question directly. State the answer first, in bold."
            ),
        ),
    )


def _attempts(chooser: Chooser) -> PlanDraft:
    first = chooser.best(Need.ARITHMETIC)
    judge = chooser.best(Need.STRONG, excluded=(first,))
    second = chooser.best(Need.ARITHMETIC, excluded=(first, judge))
    return PlanDraft(
        "A calculation: single attempts slip now and then. Two models work it out "
        f"without seeing each other, {first} and {second}; then Model {judge} compares "
        "what they found and settles on the answer.",
        (
            SimulatedStep(
                first,
                "Work out the answer on your own, step by step. State the result "
                "first, in bold.",
            ),
            SimulatedStep(
                second,
                "Solve the problem independently, by another route if there is one. "
                "State the result first, in bold.",
            ),
            SimulatedStep(
                judge,
                "Compare the earlier attempts, recompute where they differ, and state "
                "the final answer first, in bold.",
                "all",
            ),
        ),
    )


def _program(chooser: Chooser) -> PlanDraft:
    coder = chooser.best(Need.CODE)
    planner = chooser.best(Need.STRONG, excluded=(coder,))
    checker = chooser.best(Need.STRONG, excluded=(coder,))
    return PlanDraft(
        f"Code is best planned, written and checked. Model {planner} outlines the "
        f"approach, Model {coder} writes the function, and Model {checker}, which did "
        "not write it, reviews it.",
        (
            SimulatedStep(
                planner, "Plan the function: approach, edge cases, how to try it out."
            ),
            SimulatedStep(
                coder, "Write the function as outlined, with a docstring.", "all"
            ),
            SimulatedStep(
                checker,
                "Check the function from the earlier step, correct any fault, and give "
                "the complete code.",
                "all",
            ),
        ),
    )


def _prepared(example: examples.ExampleTurn, chooser: Chooser) -> PlanDraft:
    """Return the plan of an example; its steps go to models that suit them."""
    steps: list[SimulatedStep] = []
    for step in example.steps:
        taken = (steps[-1].model,) if steps else ()
        model = chooser.best(step.need, excluded=taken)
        steps.append(SimulatedStep(model, step.subtask, step.access))
    return PlanDraft(example.reasoning, tuple(steps))


def _several(parts: tuple[str, ...], chooser: Chooser) -> PlanDraft:
    solved = [families.solve(part) for part in parts]
    steps = [
        SimulatedStep(
            chooser.best(Need.of(found.family) if found else Need.GENERAL),
            f"Answer only this part: «{part}». State the answer first, in bold.",
        )
        for part, found in zip(parts, solved, strict=True)
    ]
    combine = "Combine the earlier answers, in order, into one final response."
    steps.append(SimulatedStep(chooser.best(Need.GENERAL), combine, "all"))
    return PlanDraft(
        f"These are {len(parts)} questions in one, and none needs another's answer. "
        "Each goes to a model that suits it, side by side; the last step puts them "
        "together.",
        tuple(steps),
    )


def _on_texts(kind: str, chooser: Chooser) -> PlanDraft:
    writer = chooser.best(Need.TEXT)
    checker = chooser.best(Need.STRONG, excluded=(writer,))
    return PlanDraft(
        f"A text that rests on another one. Model {writer} writes it, and Model "
        f"{checker}, which did not, checks it against the {kind}.",
        (
            SimulatedStep(writer, f"Write it, from the {kind} alone."),
            SimulatedStep(
                checker,
                f"Check the text from the earlier step against the {kind}, and give "
                "the final text.",
                "all",
            ),
        ),
    )


# --- the two ways to write a plan down ------------------------------------------------


def as_lists(draft: PlanDraft) -> str:
    """Return the reasoning and the three Python lists, in the paper's format."""
    models = [step.model for step in draft.steps]
    subtasks = [step.subtask for step in draft.steps]
    access = [_access(step) for step in draft.steps]
    return (
        f"{draft.reasoning}\n\n"
        f"model_id = {models}\nsubtasks = {subtasks}\naccess_list = {access}"
    )


def as_json(draft: PlanDraft) -> str:
    """Return the plan as the JSON object that structured output asks for."""
    steps = [
        {"subtask": step.subtask, "worker": step.model, "access": _access(step)}
        for step in draft.steps
    ]
    return orjson.dumps({"reasoning": draft.reasoning, "steps": steps}).decode()


def _access(step: SimulatedStep) -> str | list[int]:
    return step.access if isinstance(step.access, str) else list(step.access)
