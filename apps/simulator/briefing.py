"""Reads what a worker is sent: the question, the earlier steps, its own subtask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_TAG = (
    r"<{0}(?:\s++agent=\"?(?P<agent>\d++)\"?)?+\s*+>\n?"
    r"(?P<text>(?:(?!\n?</?{0}\b).)*+)\n?</{0}>"
)
QUESTION = re.compile(_TAG.format("question"), re.DOTALL)
SUBTASK = re.compile(_TAG.format("subtask"), re.DOTALL)
RESPONSE = re.compile(_TAG.format("response"), re.DOTALL)
OWN = re.compile(_TAG.format("your-subtask"), re.DOTALL)

_CHECK = re.compile(
    r"\b(?:check|review|verify|test|proof-?read|inspect|examine)", re.IGNORECASE
)
_COMBINE = re.compile(
    r"\b(?:compare|combine|aggregate|merge|reconcile|summari[sz]e|judge|final)",
    re.IGNORECASE,
)
_PLAN = re.compile(r"\b(?:plan|outline|decide how|think through)\b", re.IGNORECASE)
_TURN = re.compile(
    r"(?:^|\n\n)(?P<who>User|Assistant|Tool result|Assistant calls a tool): "
)
"""Begins a turn in a conversation that is written as one question."""
_CLIENT_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z]++[-_][a-z_-]++)>")
"""Begins or ends what a client adds to the user's words."""
_PART = re.compile(r"this part:\s*«(?P<part>[^«»]*+)»", re.DOTALL)


class BriefingRole(StrEnum):
    """What a step is for."""

    SOLVE = "solve"
    """Answers from the question alone."""
    PLAN = "plan"
    """Says how to go about it, without the result."""
    CHECK = "check"
    """Looks for faults in earlier responses and corrects them."""
    COMBINE = "combine"
    """Compares earlier responses and settles on one answer."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier step the worker may read."""

    agent: int
    subtask: str
    response: str


@dataclass(frozen=True, slots=True)
class Briefing:
    """Everything a worker knows."""

    question: str
    subtask: str = ""
    """Empty if the worker was asked directly."""
    earlier: tuple[Earlier, ...] = ()

    @property
    def role(self) -> BriefingRole:
        """Return what the subtask and the visible steps make of this worker."""
        if _PLAN.search(self.subtask) and not self.earlier:
            return BriefingRole.PLAN
        if not self.earlier:
            return BriefingRole.SOLVE
        if _COMBINE.search(self.subtask):
            return BriefingRole.COMBINE
        return BriefingRole.CHECK if _CHECK.search(self.subtask) else BriefingRole.SOLVE

    @property
    def part(self) -> str:
        """Return the part of the question the subtask points at, else the whole."""
        match = _PART.search(self.subtask)
        return match["part"].strip() if match else last_turn(self.question)

    @property
    def asking(self) -> str:
        """Return what the user said last, as far as it can be told apart.

        Clients add instructions in tags of their own, such as `<system-reminder>`. In
        a plan's question a system prompt comes before the user's words without a mark,
        so that the last paragraph alone is surely the user's.
        """
        words = _without_additions(self.part).strip()
        if self.subtask and self.part == self.question:
            return words.rpartition("\n\n")[2]
        return words


def _without_additions(text: str) -> str:
    """Return the user's own words, without what a client put in tags around them."""
    tags = list(_CLIENT_TAG.finditer(text))
    last_ends = {tag["name"]: tag.start() for tag in tags if tag["end"]}
    kept, start, open_name = [], 0, ""
    for tag in tags:
        name = tag["name"]
        if open_name:
            if tag["end"] and name == open_name:
                start, open_name = tag.end(), ""
        elif not tag["end"] and last_ends.get(name, -1) > tag.start():
            kept.append(text[start : tag.start()])
            open_name = name
    return "".join(kept) + ("" if open_name else text[start:])


def turns(question: str) -> tuple[tuple[str, str], ...]:
    """Return speaker and text of each turn of a conversation that is one question.

    Speakers are `User`, `Assistant`, `Tool result` and `Assistant calls a tool`. A
    question that is no conversation has no turns.
    """
    marks = list(_TURN.finditer(question))
    ends = [mark.start() for mark in marks[1:]] + [len(question)]
    return tuple(
        (mark["who"], question[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=False)
    )


def last_turn(question: str) -> str:
    """Return what the user said last in a conversation, else the whole question."""
    spoken = turns(question)
    questions = [text for who, text in spoken if who == "User"]
    return questions[-1] if len(spoken) > 1 and questions else question


def read(text: str) -> Briefing:
    """Return the briefing in `text`; a text in another shape is the question itself."""
    own = OWN.search(text)
    question = QUESTION.search(text)
    if own is None or question is None:
        return Briefing(text)
    between = text[question.end() : own.start()]
    subtasks = {int(m["agent"] or 0): m["text"] for m in SUBTASK.finditer(between)}
    earlier = tuple(
        Earlier(agent, subtasks.get(agent, ""), match["text"])
        for match in RESPONSE.finditer(between)
        for agent in (int(match["agent"] or 0),)
    )
    return Briefing(question["text"], own["text"], earlier)
