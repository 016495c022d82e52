"""Translates the numbers in a conductor's text into the names that pages use.

The conductor sees no names: it writes "Model 0". Workers see earlier steps as
"agent 0". What was sent is shown unchanged, with its meaning beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.translation import gettext

from apps.runs.records.round_view import RoundView

_LIST = re.compile(r'model_id["\']?\s*[:=]\s*\[([^\[\]]{0,2000})\]')
_EACH = re.compile(r'"worker"\s*:\s*(\d{1,6})\b')
"""In a plan that was written as JSON."""
_NUMBER = re.compile(r"\d{1,6}")

Legend = list[tuple[str, str]]
"""Pairs of a number as it was written and its meaning."""


def models_of(round_: RoundView) -> Legend:
    """Return which workers the models of a plan are, in the order of their numbers.

    Read out of what the conductor wrote; only models that the plan uses are known.
    """
    accepted = [call for call in round_.calls if call.output and not call.fault]
    if not accepted or round_.is_fallback:
        return []
    numbers = _numbers(accepted[-1].output)
    workers = [step.planned_worker for step in round_.steps]
    if len(numbers) != len(workers):
        return []
    known = dict(zip(numbers, workers, strict=True))
    return [(f"Model {number}", known[number]) for number in sorted(known)]


def agents_of(round_: RoundView, access: Sequence[int]) -> Legend:
    """Return the steps that the agents in a step's prompt stand for."""
    steps = {step.index: step for step in round_.steps}
    return [
        (f"agent {index}", _step_words(index + 1, steps[index].worker))
        for index in access
        if index in steps
    ]


def _step_words(number: int, worker: str) -> str:
    return gettext("step {number}, {worker}").format(number=number, worker=worker)


def _numbers(output: str) -> list[int]:
    if lists := _LIST.findall(output):
        return [int(number) for number in _NUMBER.findall(lists[-1])]
    return [int(number) for number in _EACH.findall(output)]
