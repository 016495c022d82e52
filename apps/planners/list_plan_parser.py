"""Reads a plan out of the three lists a conductor writes.

Lenient in form (`list_scanner.py`), strict in meaning: what is accepted has one reading
only.
Source: arXiv 2512.04388, section 3; the index lists are its ablation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import Plan, PlannedStep
from apps.planners.list_scanner import LIST_NAMES, Value, find_lists
from apps.planners.plan_formats import PLANS_REST
from apps.planners.plan_references import (
    all_earlier,
    bad_access,
    check_count,
    earlier_steps,
    worker_name,
)

ALL = "all"
_NUMBER = re.compile(
    r"(?:(?:model|worker|agent|step|subtask)[\s_#-]{0,3})?(-?[0-9]{1,6})", re.IGNORECASE
)
"""`2`, and `Model 2` or `step 2` as some models like to write it."""


_PLANNER = re.compile(rf"{PLANS_REST}[\s_#-]{{1,3}}(?P<model>\S.*)", re.IGNORECASE)


def parse_lists(
    text: str, workers: Sequence[str], *, may_delegate: bool = False
) -> Plan | None:
    """Return the plan in `text`, or None for three empty lists (keep the answer).

    `workers` are the pool's names in the order of their numbers. `may_delegate`: the
    last entry of model_id may say that its model plans the rest; else such an entry is
    no number. Raises: PlanRejected.
    """
    found = find_lists(text)
    models, subtasks, access = (found.lists[name] for name in LIST_NAMES)
    if not len(models) == len(subtasks) == len(access):
        raise PlanRejected(
            PlanFault.UNEQUAL_LENGTHS,
            f"model_id has {len(models)} entries, subtasks {len(subtasks)} and "
            f"access_list {len(access)}; expected three lists of equal length",
        )
    if not models:
        return None
    check_count(len(models))
    planner = _planner(models[-1]) if may_delegate else None
    if planner is not None:
        models = [*models[:-1], planner]
    steps = tuple(
        PlannedStep(
            subtask=_subtask(step, subtasks[step]),
            worker=worker_name(step, _number(models[step]), workers),
            access=_access(step, access[step]),
        )
        for step in range(len(models))
    )
    return Plan(steps, found.reasoning, plans_rest=planner is not None)


def _planner(value: Value) -> str | None:
    """Return the model that a last entry makes a planner; None: it does not."""
    match = _PLANNER.fullmatch(value.strip()) if isinstance(value, str) else None
    return match["model"] if match else None


def _subtask(step: int, value: Value) -> str:
    if isinstance(value, list):
        raise PlanRejected(PlanFault.UNPARSEABLE, f"subtask {step} is no text")
    if value is None or not value.strip():
        raise PlanRejected(PlanFault.EMPTY_SUBTASK, f"step {step} has no subtask")
    return value.strip()


def _access(step: int, value: Value) -> tuple[int, ...]:
    entries = value if isinstance(value, list) else [value]
    if any(
        isinstance(entry, str) and entry.strip().lower() == ALL for entry in entries
    ):
        return all_earlier(step)
    numbers = [_number(entry) for entry in entries]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        raise bad_access(step)
    return earlier_steps(step, known)


def _number(value: Value) -> int | None:
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(match[1]) if match else None
