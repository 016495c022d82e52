"""Judges answers, as comparisons, tests of candidates and rubrics ask a model to.

A judge knows what it would answer itself, right or wrong, and looks for that in what
it is shown. Where it cannot work the answer out, it looks at how much of the request an
answer takes up. Neither depends on the order in which it reads the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from apps.simulator import examples
from apps.simulator.answers import BOLD, FENCE, SIGNATURE
from apps.simulator.briefing import last_turn

Beliefs = Callable[[str], tuple[str, ...]]
"""Returns the judge's own answer to each part of a question; empty: it has none."""

PLACES = ("first", "second", "third", "fourth")
SAME = "same"
CLEAR = 0.1
"""By so much an answer must be worth more to be called better."""
ENOUGH_WORDS = 60
"""Words of its own beyond which an answer is not worth more."""
LIKE_REFERENCE, FITS_RUBRIC = 0.8, 0.5
"""Shares of the words of a reference or rubric that an answer must have."""
_MARK = re.compile(r"Only what stands between the marks with (?P<mark>[\w-]{4,64}) is ")
_REFUSAL = re.compile(r"\b(?:cannot|can't) answer this\b")
_WORD = re.compile(r"[^\W\d_]{4,}|\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class _Comparison:
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rubric:
    question: str
    rubric: str
    reference: str
    answer: str


def judgement(text: str, beliefs: Beliefs) -> str | None:
    """Return the judge's reply as JSON; None: the text asks for no judgement."""
    asked = _read(text)
    match asked:
        case _Comparison():
            better, reason = _compared(asked, beliefs(asked.question))
            return orjson.dumps({"reason": reason, "better": better}).decode()
        case _Rubric():
            is_right, reason = _graded(asked, beliefs(asked.question))
            return orjson.dumps({"reason": reason, "is_right": is_right}).decode()
    return None


def _read(text: str) -> _Comparison | _Rubric | None:
    marks = [found["mark"] for found in _MARK.finditer(text)]
    if not marks:
        return None

    def part(name: str) -> str:
        _, _, rest = text.partition(f"<{name}-{marks[-1]}>\n")
        return rest.partition(f"\n</{name}-{marks[-1]}>")[0]

    if rubric := part("rubric"):
        question = last_turn(part("task"))
        return _Rubric(question, rubric, part("reference"), part("answer"))
    answers = tuple(found for place in PLACES if (found := part(place)))
    if len(answers) < 2:
        return None
    return _Comparison(last_turn(part("request")), answers)


def _compared(asked: _Comparison, own: tuple[str, ...]) -> tuple[str, str]:
    worths = [_worth(answer, asked.question, own) for answer in asked.answers]
    best = max(worths)
    ahead = [place for place, worth in enumerate(worths) if best - worth < CLEAR]
    if len(ahead) > 1:
        return SAME, _why_same(own, best)
    place = PLACES[ahead[0]]
    if own:
        return place, f"{_own(own)}; the {place} answer agrees most with that."
    return place, f"The {place} answer takes up more of the request."


def _why_same(own: tuple[str, ...], worth: float) -> str:
    if not own:
        return "The answers take up equally much of the request."
    agreeing = "each answer agrees" if worth == 1 else "none agrees"
    return f"{_own(own)}; {agreeing} with that."


def _graded(asked: _Rubric, own: tuple[str, ...]) -> tuple[bool, str]:
    if asked.reference:
        is_right = _says(asked.answer, (asked.reference.strip(),)) == 1 or (
            _shared(asked.reference, asked.answer) >= LIKE_REFERENCE
        )
        return is_right, _fit("the right answer", is_right)
    if own:
        is_right = _says(asked.answer, own) == 1
        return is_right, f"{_own(own)}. {_fit('that', is_right)}"
    is_refused = _REFUSAL.search(asked.answer) is not None
    is_right = not is_refused and _shared(asked.rubric, asked.answer) >= FITS_RUBRIC
    return is_right, _fit("the rubric", is_right)


def _fit(what: str, is_right: bool) -> str:
    return f"It {'agrees' if is_right else 'does not agree'} with {what}."


def _own(own: Sequence[str]) -> str:
    if any("\n" in each for each in own):
        return "I have a program of my own"
    return f"I get {'; '.join(own)}"


def _worth(answer: str, question: str, own: tuple[str, ...]) -> float:
    """Return what an answer is worth, from 0 to 1."""
    if own:
        return _says(answer, own)
    if prepared := examples.prepared_turn(question):
        return _shared(prepared.text, answer)
    if _REFUSAL.search(answer):
        return 0.0
    new = _words(answer) - _words(question)
    return (_shared(question, answer) + min(1.0, len(new) / ENOUGH_WORDS)) / 2


def _says(answer: str, own: Sequence[str]) -> float:
    """Return the share of the judge's own answers that an answer gives."""
    written = answer.partition(SIGNATURE)[0]
    stated = {" ".join(each.split()) for each in BOLD.findall(written)}
    stated |= {str(code) for code in FENCE.findall(written)}
    stated = stated or {" ".join(written.split()).rstrip(".")}
    return sum(each in stated for each in own) / len(own)


def _shared(wanted: str, answer: str) -> float:
    """Return the share of the words of one text that another one has."""
    words = _words(wanted)
    return len(words & _words(answer)) / len(words) if words else 0.0


def _words(text: str) -> frozenset[str]:
    written = text.partition(SIGNATURE)[0].casefold()
    return frozenset(each.rstrip(".,") for each in _WORD.findall(written))
