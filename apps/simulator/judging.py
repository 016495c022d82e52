"""Judges answers, as comparisons, tests of candidates and rubrics ask a model to.

A judge works out the right answer where any simulated worker could, however weak the
judge is as a worker, and looks for it in what it is shown. Of answers that it cannot
work out it says so: none is better, unless one refuses and another one does not. It
never decides by the order in which it reads the answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from apps.simulator import examples, families
from apps.simulator.answers import BOLD, FENCE, SIGNATURE
from apps.simulator.benchmark.forms import FORMS, Form
from apps.simulator.benchmark.tasks import recognise
from apps.simulator.briefing import last_turn
from apps.simulator.follow_ups import meant, revised
from apps.simulator.office import office_task

PLACES = ("first", "second", "third", "fourth")
SAME = "same"
CLEAR = 0.1
"""By so much an answer must be worth more to be called better."""
LIKE_REFERENCE, FITS_RUBRIC = 0.8, 0.5
"""Shares of the words of a reference or rubric that an answer must have."""
_MARK = re.compile(r"Only what stands between the marks with (?P<mark>[\w-]{4,64}) is ")
_REFUSAL = re.compile(r"\b(?:cannot|can't) answer this\b")
_WORD = re.compile(r"[^\W\d_]{4,}|\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class _Comparison:
    request: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rubric:
    request: str
    rubric: str
    reference: str
    answer: str


def judgement(text: str, forms: tuple[Form, ...] = FORMS) -> str | None:
    """Return the judge's reply as JSON; None: the text asks for no judgement.

    `forms` are the tasks of a benchmark that the judge knows.
    """
    wanted = _read(text)
    match wanted:
        case _Comparison():
            better, reason = _compared(wanted, right_answers(wanted.request, forms))
            return orjson.dumps({"reason": reason, "better": better}).decode()
        case _Rubric():
            is_right, reason = _graded(wanted, right_answers(wanted.request, forms))
            return orjson.dumps({"reason": reason, "is_right": is_right}).decode()
    return None


def right_answers(request: str, forms: tuple[Form, ...] = FORMS) -> tuple[str, ...]:
    """Return the right answer to each part of what a request asks last, in short.

    Empty: it cannot be worked out.
    """
    for question in (last_turn(request), *meant(request)):
        if task := recognise(question, forms):
            return (task.answer,)
        parts = families.split(question) or (question,)
        solved = [found for part in parts if (found := families.solve(part))]
        if len(solved) == len(parts):
            return tuple(found.right.answer for found in solved)
    program = revised(request)
    return (program.code,) if program else ()


def _read(text: str) -> _Comparison | _Rubric | None:
    marks = [found["mark"] for found in _MARK.finditer(text)]
    if not marks:
        return None

    def part(name: str) -> str:
        _, _, rest = text.partition(f"<{name}-{marks[-1]}>\n")
        return rest.partition(f"\n</{name}-{marks[-1]}>")[0]

    if rubric := part("rubric"):
        return _Rubric(part("task"), rubric, part("reference"), part("answer"))
    answers = tuple(found for place in PLACES if (found := part(place)))
    if len(answers) < 2:
        return None
    return _Comparison(part("request"), answers)


def _compared(wanted: _Comparison, right: tuple[str, ...]) -> tuple[str, str]:
    source = _source(wanted.request)
    worths = [_worth(answer, source, right) for answer in wanted.answers]
    best = max(worths)
    ahead = [place for place, worth in enumerate(worths) if best - worth < CLEAR]
    is_clear = len(ahead) == 1
    place = PLACES[ahead[0]] if is_clear else SAME
    if right:
        return place, f"{_own(right)}; {_agreement(place, best)} with that."
    if source:
        return place, f"I know the request; {_agreement(place, best)} with what I know."
    if is_clear:
        return place, f"I cannot work it out; the {place} answer alone is no refusal."
    return place, "I cannot work it out, so I cannot tell which answer is better."


def _agreement(place: str, worth: float) -> str:
    if place != SAME:
        return f"the {place} answer agrees most"
    return "each answer agrees" if worth == 1 else "no answer agrees more than another"


def _source(request: str) -> str:
    """Return what a good answer is taken from; empty: nothing that is known."""
    question = last_turn(request)
    if prepared := examples.prepared_turn(question):
        return prepared.text
    task = office_task(question)
    return task.text if task else ""


def _graded(wanted: _Rubric, right: tuple[str, ...]) -> tuple[bool, str]:
    if wanted.reference:
        is_right = _says(wanted.answer, (wanted.reference.strip(),)) == 1 or (
            _shared(wanted.reference, wanted.answer) >= LIKE_REFERENCE
        )
        return is_right, _fit("the right answer", is_right)
    if right:
        is_right = _says(wanted.answer, right) == 1
        return is_right, f"{_own(right)}. {_fit('that', is_right)}"
    is_refused = _REFUSAL.search(wanted.answer) is not None
    is_right = not is_refused and _shared(wanted.rubric, wanted.answer) >= FITS_RUBRIC
    return is_right, _fit("the rubric", is_right)


def _fit(what: str, is_right: bool) -> str:
    return f"It {'agrees' if is_right else 'does not agree'} with {what}."


def _own(right: Sequence[str]) -> str:
    if any("\n" in answer for answer in right):
        return "I have a program of my own"
    return f"I get {'; '.join(right)}"


def _worth(answer: str, source: str, right: tuple[str, ...]) -> float:
    """Return what an answer is worth, from 0 to 1."""
    if right:
        return _says(answer, right)
    if source:
        return _shared(source, answer)
    return 0.0 if _REFUSAL.search(answer) else 1.0


def _says(answer: str, right: Sequence[str]) -> float:
    """Return the share of the right answers that an answer gives."""
    written = answer.partition(SIGNATURE)[0]
    stated = {" ".join(bold.split()) for bold in BOLD.findall(written)}
    stated |= {str(code) for code in FENCE.findall(written)}
    if stated:
        return sum(part in stated for part in right) / len(right)
    end = f" {' '.join(written.split()).rstrip('.')}"
    return sum(end.endswith(f" {part}") for part in right) / len(right)


def _shared(wanted: str, answer: str) -> float:
    """Return the share of the words of one text that another one has."""
    words = _words(wanted)
    return len(words & _words(answer)) / len(words) if words else 0.0


def _words(text: str) -> frozenset[str]:
    written = text.partition(SIGNATURE)[0].casefold()
    return frozenset(each.rstrip(".,") for each in _WORD.findall(written))
