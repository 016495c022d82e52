"""Reads a conductor prompt: the question, the models, and what went before.

A prompt may show worked examples first, so always the last block counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.simulator.request import SimulatedRequest

QUESTION = re.compile(
    r"^<question>[ \t]*\n(.*?)\n</question>", re.DOTALL | re.MULTILINE
)
MODELS = re.compile(r"^[#* ]*Available models\b.*$", re.IGNORECASE | re.MULTILINE)
MODEL = re.compile(r"^[-* ]*Model (\d{1,6})\b\W*(.*)$")
MAX_STEPS = re.compile(
    r"\b(?:to|most|than|exactly)\s+(\d{1,3}|one|two|three|four|five)\s+steps?\b",
    re.IGNORECASE,
)
PREVIOUS = re.compile(r"^[#* ]*Your previous plan\b", re.IGNORECASE | re.MULTILINE)
REJECTION = re.compile(
    r"^(?P<marker>Your rejected answer|Your plan was (?:rejected|refused)"
    r"|It cannot be used)\b(?P<reason>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
NO_ANSWER = re.compile(
    r"^(?:It gave no final response|There is no answer yet)"
    r"|^Its final response:\s(?:\s*+<response>\s)?\W*+(?:error|failed|failure)\b",
    re.IGNORECASE | re.MULTILINE,
)
FAILED_STEP = re.compile(r"^Step (\d{1,3}): failed", re.IGNORECASE | re.MULTILINE)
PLANNED_IDS = re.compile(r"^\W*model_id\s*=\s*\[([\d, ]*)\]", re.MULTILINE)
PLANNED_WORKER = re.compile(r'"worker":\s*(\d{1,6})')
MODEL_NUMBER = re.compile(r"\bModel (\d{1,6})\b")
SEEING = re.compile(r"\bOnly ((?:Model \d{1,6}(?:, )?)+) can see images\b")
CALLING = re.compile(r"\bOnly ((?:Model \d{1,6}(?:, )?)+) can call functions\b")
RULES = re.compile(r"^model_id: the number of the model", re.MULTILINE)
"""In the system message of a prompt that asks for lists."""
DEFAULT_MAX_STEPS = 5
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as the prompt lists it."""

    id: int
    about: str = ""
    """Name or description; empty if the model is anonymous."""


@dataclass(frozen=True, slots=True)
class ConductorTask:
    """What the conductor is asked."""

    question: str
    models: tuple[ListedModel, ...]
    max_steps: int = DEFAULT_MAX_STEPS
    rounds: int = 0
    """Earlier rounds that are shown."""
    has_failed: bool = False
    """True if the last of them ended without a good answer."""
    rejections: int = 0
    """Plans of this round that were refused."""
    avoided: frozenset[int] = frozenset()
    """Models that failed in an earlier round or that a rejection names."""
    seeing: frozenset[int] = frozenset()
    """Models that alone can see the question's images; empty: all or no matter."""
    calling: frozenset[int] = frozenset()
    """Models that alone can call the user's functions; empty: all or no matter."""


def asks_for_plan(request: SimulatedRequest) -> bool:
    """Say whether a request asks for a plan, as conductors and planning workers get it.

    A user's text alone cannot.
    """
    system = "\n".join(m.text for m in request.messages if m.role == "system")
    return bool(RULES.search(system) and MODELS.search(request.all_text))


def read(request: SimulatedRequest) -> ConductorTask:
    """Return what `request` asks the conductor."""
    text = request.all_text
    questions = QUESTION.findall(text)
    headings = list(MODELS.finditer(text))
    rest = text[headings[-1].end() :] if headings else ""
    rest = QUESTION.sub("", rest)  # whatever it says, it is no part of the prompt
    rounds = PREVIOUS.split(rest)[1:]
    failed = [_failed_models(part) for part in rounds]
    rejections = list(REJECTION.finditer(rest))
    refused = {int(n) for r in rejections for n in MODEL_NUMBER.findall(r["reason"])}
    return ConductorTask(
        question=questions[-1] if questions else request.last_user_text,
        models=_listed(rest) or (ListedModel(0),),
        max_steps=_max_steps(text),
        rounds=len(rounds),
        has_failed=bool(rounds) and bool(failed[-1] or NO_ANSWER.search(rounds[-1])),
        rejections=sum(r["marker"].lower() != "it cannot be used" for r in rejections),
        avoided=frozenset(refused.union(*failed)),
        seeing=_able(SEEING, text),
        calling=_able(CALLING, text),
    )


def _able(sentence: re.Pattern[str], text: str) -> frozenset[int]:
    found = sentence.findall(text)
    return (
        frozenset(map(int, MODEL_NUMBER.findall(found[-1]))) if found else frozenset()
    )


def _listed(rest: str) -> tuple[ListedModel, ...]:
    models: list[ListedModel] = []
    for line in rest.strip().splitlines():
        match = MODEL.match(line)
        if match is None:
            break
        models.append(ListedModel(int(match[1]), match[2].strip()))
    return tuple(models)


def _max_steps(text: str) -> int:
    match = MAX_STEPS.search(text)
    if match is None:
        return DEFAULT_MAX_STEPS
    word = match[1].lower()
    return NUMBERS.get(word) or int(word) or 1


def _failed_models(round_text: str) -> set[int]:
    """Return the models of the steps that failed in one shown round."""
    lists = PLANNED_IDS.search(round_text)
    ids = lists[1].split(",") if lists else PLANNED_WORKER.findall(round_text)
    failed = (int(step) for step in FAILED_STEP.findall(round_text))
    return {int(ids[step]) for step in failed if step < len(ids) and ids[step].strip()}
