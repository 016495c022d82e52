"""Tasks of the simulated benchmark: made by a seed, and recognised from their text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from apps.simulator.benchmark.forms import (
    FORMS,
    NUMERIC_FAMILIES,
    Form,
    TaskFamily,
    Values,
)
from apps.simulator.chance import pick

MAX_QUESTION = 400
"""Characters of the longest text that can be a task."""
MAX_TRIES = 200
"""Draws for one more question that is not in the suite yet."""
SLIPS = (1, -1, 2, -2, 10, -10)
"""How far a near miss is from the right number."""
FAR_OFF = (137, 251, 389)
"""How far other wrong numbers are from it."""


@dataclass(frozen=True, slots=True)
class BenchTask:
    """One question with its right answer."""

    family: TaskFamily
    question: str
    answer: str
    method: str
    """What a good plan for it says."""
    far_off: tuple[str, ...]
    """Wrong answers from which nothing can be repaired."""

    @property
    def near_misses(self) -> tuple[str, ...]:
        """Return wrong answers that somebody who checks them can repair."""
        if self.family in NUMERIC_FAMILIES:
            return tuple(str(int(self.answer) + slip) for slip in SLIPS)
        return _transposed(self.answer)


class TooManyTasks(ValueError):
    """There are not that many different questions."""


def distinct_tasks(count: int, seed: int) -> Iterator[BenchTask]:
    """Yield `count` tasks with different questions, the families in turn.

    Raises: TooManyTasks, before the first family repeats itself.
    """
    families = tuple(TaskFamily)
    taken: set[str] = set()
    for index in range(count):
        family = families[index % len(families)]
        found = next(
            (
                made
                for attempt in range(MAX_TRIES)
                if (made := drawn_task(family, seed, index, attempt)) is not None
                and made.question not in taken
            ),
            None,
        )
        if found is None:
            raise TooManyTasks(
                f"tasks: expected fewer; no new question about {family.value} was "
                f"found after {index}"
            )
        taken.add(found.question)
        yield found


def drawn_task(
    family: TaskFamily, seed: int, index: int, attempt: int = 0
) -> BenchTask | None:
    """Return the task that the numbers stand for, None if they make none."""
    facts = ("bench task", family.value, str(index), str(attempt))
    form = pick([f for f in FORMS if f.family is family], seed, *facts)
    values = {
        name: str(pick(of, seed, *facts, name)) for name, of in form.values.items()
    }
    return _task(form, values)


@lru_cache(maxsize=4096)
def recognise(text: str) -> BenchTask | None:
    """Return the task whose question is `text`, None if it is none.

    The whole text must be the question; only the white space may differ.
    """
    if len(text) > MAX_QUESTION:
        return None
    flat = " ".join(text.split())
    for form in FORMS:
        match = form.pattern.fullmatch(flat)
        if match is None:
            continue
        values = match.groupdict()
        if all(value in form.known[name] for name, value in values.items()):
            return _task(form, values)
    return None


def _task(form: Form, values: Values) -> BenchTask | None:
    answer = form.solve(values)
    if answer is None:
        return None
    question = form.wording.format(**values)
    if form.wrong is None:
        wrong = tuple(str(int(answer) + far) for far in FAR_OFF)
    else:
        wrong = tuple(form.wrong(values))
    return BenchTask(form.family, question, answer, form.method, wrong)


def _transposed(text: str) -> tuple[str, ...]:
    """Return `text` with two neighbours exchanged, in every way that changes it."""
    return tuple(
        text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        for at in range(len(text) - 1)
        if text[at] != text[at + 1] and text[at : at + 2].isalpha()
    )
