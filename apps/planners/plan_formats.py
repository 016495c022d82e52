"""The two forms a plan is written in, and how a prompt speaks of each.

`lists` is what a trained conductor writes; `json_schema` is for servers that can hold a
model to a schema. Prompt and reply of one form belong together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.engine.plan import Plan, PlannedStep
from apps.planners.escaping import shorten
from apps.planners.plan_references import all_earlier

PLANS_REST = "planner"
"""Before the number of the last model, in lists: it plans the rest."""
_LEAVE_REST = """\
If a model can plan better than you, perhaps once it has read earlier responses, the \
last step may plan the rest instead of answering. Its model gets this list of models \
and the responses of its access list, and its plan is carried out. """
MAX_SUBTASK_CHARS = 1000
"""Longest subtask shown again in a later round."""


@dataclass(frozen=True, slots=True)
class PlanFormat:
    """How plans look in a prompt."""

    rules: str
    """What the parts of a plan mean."""
    keep: str
    """How to say "keep the answer"."""
    leave_rest: str
    """How to say that the last step plans the rest."""
    render: Callable[[Plan, Sequence[str]], str]
    """Write a plan down; the second argument is the pool's names, in order."""


def render_lists(plan: Plan, workers: Sequence[str]) -> str:
    """Return the plan as three lists, one to a line."""
    steps = plan.steps
    models: list[str | int | None] = [_number(step.worker, workers) for step in steps]
    if plan.plans_rest and models[-1] is not None:
        models[-1] = f"{PLANS_REST} {models[-1]}"
    subtasks = [shorten(step.subtask, MAX_SUBTASK_CHARS) for step in steps]
    access = [_access(index, step) for index, step in enumerate(steps)]
    return (
        f"model_id = {_json(models)}\n"
        f"subtasks = {_json(subtasks)}\n"
        f"access_list = {_json(access)}"
    )


def render_json(plan: Plan, workers: Sequence[str]) -> str:
    """Return the plan as the JSON object of `schema.py`, on one line."""
    steps = [
        {
            "subtask": shorten(step.subtask, MAX_SUBTASK_CHARS),
            "worker": _number(step.worker, workers),
            "access": _access(index, step),
        }
        for index, step in enumerate(plan.steps)
    ]
    beside = {"plans_rest": True} if plan.plans_rest else {}
    return _json({"reasoning": plan.reasoning, "steps": steps, **beside})


def render_example(plan: Plan, workers: Sequence[str]) -> str:
    """Return reasoning and lists, the way a whole reply should look."""
    return f"{plan.reasoning}\n{render_lists(plan, workers)}"


def _access(index: int, step: PlannedStep) -> str | list[int]:
    reads_all = index > 0 and step.access == all_earlier(index)
    return "all" if reads_all else list(step.access)


def _number(worker: str, workers: Sequence[str]) -> int | None:
    return workers.index(worker) if worker in workers else None


def _json(value: object) -> str:
    # JSON and Python write such lists alike, and no string can break its line.
    return json.dumps(value, ensure_ascii=False)


LISTS = PlanFormat(
    rules="""\
Think first, in a few sentences. Then write the plan as three Python lists, one line \
each, all of the same length. Entry i of every list belongs to step i; steps count \
from 0.
model_id: the number of the model that does the step.
subtasks: what that model is to do, as a string. It reads the user's question as well, \
so say what to do with it instead of repeating it.
access_list: which earlier steps the model may read, each with its subtask and its \
response. [] is none, "all" is every earlier step, and a list of step numbers such as \
[0, 2] is exactly those. A step never reads itself or a later step.""",
    keep="three empty lists: model_id = [], subtasks = [], access_list = []",
    leave_rest=f'{_LEAVE_REST}Write its entry of model_id as "{PLANS_REST} 2", for '
    "model 2.",
    render=render_lists,
)

JSON_SCHEMA = PlanFormat(
    rules="""\
Write one JSON object with "reasoning", a few sentences of thinking, and then "steps". \
Steps count from 0. Each step has three fields.
worker: the number of the model that does the step.
subtask: what that model is to do. It reads the user's question as well, so say what \
to do with it instead of repeating it.
access: which earlier steps the model may read, each with its subtask and its \
response. [] is none, "all" is every earlier step, and a list of step numbers such as \
[0, 2] is exactly those. A step never reads itself or a later step.""",
    keep='an empty list of steps: "steps": []',
    leave_rest=f'{_LEAVE_REST}Then write "plans_rest": true after the steps, else '
    "false.",
    render=render_json,
)
