"""Tasks of the simulated benchmark: made by a seed, and recognised from their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from apps.simulator.benchmark.forms import FORMS, Form, TaskFamily, Values
from apps.simulator.chance import pick

MAX_QUESTION = 2_000
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

    family: str
    question: str
    answer: str
    method: str
    """What a good plan for it says."""
    near_misses: tuple[str, ...]
    """Wrong answers that somebody who checks them can repair."""
    far_off: tuple[str, ...]
    """Wrong answers from which nothing can be repaired."""
    verifier: Mapping[str, Any]
    """As a suite has it."""
    is_code: bool = False


class TooManyTasks(ValueError):
    """There are not that many different questions."""


def distinct_tasks(
    count: int,
    seed: int,
    families: Sequence[str] = tuple(TaskFamily),
    forms: Sequence[Form] = FORMS,
) -> Iterator[BenchTask]:
    """Yield `count` tasks with different questions, the families in turn.

    Raises: TooManyTasks, before the first family repeats itself.
    """
    taken: set[str] = set()
    for index in range(count):
        family = families[index % len(families)]
        found = next(
            (
                made
                for attempt in range(MAX_TRIES)
                if (made := drawn_task(family, seed, index, attempt, forms))
                and made.question not in taken
            ),
            None,
        )
        if found is None:
            raise TooManyTasks(
                f"tasks: expected fewer; no new question about {family} was "
                f"found after {index}"
            )
        taken.add(found.question)
        yield found


def drawn_task(
    family: str,
    seed: int,
    index: int,
    attempt: int = 0,
    forms: Sequence[Form] = FORMS,
) -> BenchTask | None:
    """Return the task that the numbers stand for, None if they make none."""
    facts = ("bench task", str(family), str(index), str(attempt))
    form = pick([f for f in forms if f.family == family], seed, *facts)
    values = {
        name: str(pick(of, seed, *facts, name)) for name, of in form.values.items()
    }
    return _task(form, values)


@lru_cache(maxsize=4096)
def recognise(text: str, forms: tuple[Form, ...] = FORMS) -> BenchTask | None:
    """Return the task of `forms` whose question is `text`, None if it is none.

    The whole text must be the question; only the white space may differ.
    """
    if len(text) > MAX_QUESTION:
        return None
    flat = " ".join(text.split())
    for form in forms:
        match = form.pattern.fullmatch(flat)
        if match is None:
            continue
        values = match.groupdict()
        if all(form.takes(name, value) for name, value in values.items()):
            return _task(form, values)
    return None


def _task(form: Form, values: Values) -> BenchTask | None:
    answer = form.solve(values)
    if answer is None:
        return None
    question = form.wording.format(**values)
    is_number = form.wrong is None
    slip = _neighbours if is_number else _transposed
    kind = "numeric" if is_number else "exact"
    same = {"kind": kind, "answer": answer}
    return BenchTask(
        form.family,
        question,
        answer,
        form.method(values),
        near_misses=tuple(form.near(values)) if form.near else slip(answer),
        far_off=tuple(form.wrong(values)) if form.wrong else _elsewhere(answer),
        verifier=form.verifier(values, answer) if form.verifier else same,
        is_code=form.is_code,
    )


def _neighbours(number: str) -> tuple[str, ...]:
    return tuple(str(int(number) + slip) for slip in SLIPS)


def _elsewhere(number: str) -> tuple[str, ...]:
    return tuple(str(int(number) + far) for far in FAR_OFF)


def _transposed(text: str) -> tuple[str, ...]:
    """Return `text` with two neighbours exchanged, in every way that changes it."""
    return tuple(
        text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        for at in range(len(text) - 1)
        if text[at] != text[at + 1] and text[at : at + 2].isalpha()
    )
