"""Questions that carry their own plan, for the scripted conductor."""

from __future__ import annotations

import json
from collections.abc import Sequence

Access = Sequence[int]
PlannedStep = tuple[int, str, Access]
"""Number of the worker in the pool, subtask, numbers of the steps it reads."""


def question_with(*steps: PlannedStep, text: str = "Follow the plan.") -> str:
    """Return a question whose plan is `steps`."""
    workers, subtasks, access = zip(*steps, strict=True)
    return (
        f"{text}\n<<plan\n"
        f"model_id = {json.dumps(workers)}\n"
        f"subtasks = {json.dumps(subtasks)}\n"
        f"access_list = {json.dumps([list(a) for a in access])}\n>>"
    )


def say(text: str) -> str:
    """Return a subtask that makes the scripted worker answer with `text`."""
    return f"[[say {text}]]"
