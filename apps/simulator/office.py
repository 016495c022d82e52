"""What simulated workers do with texts: reply to a ticket, sum up notes, quote files.

They find sentences and lines; they understand nothing. The demo's presets ask in the
words that are recognised here. Every answer holds only what stands in the prompt, and
a check of one really compares both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_TEXT = 200_000
"""Characters of a prompt that is looked at."""
MAX_QUOTED = 3
"""Lines of files in one answer."""
TICKET = re.compile(
    r"Write a reply to this ticket in (?P<language>[^\n,]{1,40}), in an? "
    r"(?P<tone>[^\n]{1,40}) tone and with at most (?P<words>\d{1,4}) words\.\s+"
    r"Ticket:\n(?P<ticket>.+)",
    re.DOTALL,
)
NOTES = re.compile(
    r"Sum up these notes for (?P<readers>[^\n:]{1,80}): first the decisions, then the "
    r"open questions, then who does what until when\. Leave out what is not in the "
    r"notes\.\s+(?P<notes>.+)",
    re.DOTALL,
)
FILE_HEAD = re.compile(r"File: (?P<name>.{1,200}) \(.{1,80}\)")
FENCE = re.compile(r"`{3,}+")
TITLE_WORDS = 3
"""Of a line that is only quoted before others if it has a number."""
MARKER = re.compile(r"\[[^\[\]\n]{1,100}\]")
"""What a reader of files puts between parts: [Slide 1], [Sheet Costs], [Notes]."""
CELL_ENDS = ("\t", ";", ",")
"""Between the cells of a row, of which the likeliest comes first."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[^\W_]{3,}")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s*")
_DECISION = re.compile(r"\b(?:decid|agree|approv|chose|will go with|settled)", re.I)
_TASK = re.compile(
    r"^(?P<who>[A-Z][\w.-]+(?: and [A-Z][\w.-]+)?):? (?:will |to |does |writes |sends |"
    r"checks |prepares |asks |calls |takes )",
)
_COMMON = frozenset(
    {"the", "and", "what", "which", "who", "how", "are", "was", "were", "does", "did"}
    | {"this", "that", "for", "with", "from", "file", "say", "about", "have", "has"}
    | {"there", "their", "they", "you", "your", "our", "can"}
)


@dataclass(frozen=True, slots=True)
class OfficeTask:
    """A text that a worker can do something with."""

    kind: str
    """What it is called in a sentence."""
    text: str
    """The answer, in Markdown."""
    source: str
    """What the answer may quote."""
    max_words: int | None = None
    """That the answer may have. None: as many as it likes."""

    def checked(self, draft: str) -> str:
        """Return a draft with what a comparison with its source showed."""
        words = len(draft.split())
        quoted = _quoted(draft)
        missing = [each for each in quoted if each not in " ".join(self.source.split())]
        if missing or (self.max_words is not None and words > self.max_words):
            note = f"*The draft did not keep to the {self.kind}; this does.*"
            return f"{self.text}\n\n{note}"
        limit = "" if self.max_words is None else f" of {self.max_words} allowed"
        noun = "quotation" if len(quoted) == 1 else "quotations"
        return (
            f"{draft}\n\n*Checked: {words} words{limit}; {len(quoted)} {noun}, each of "
            f"them in the {self.kind}.*"
        )


def office_task(prompt: str) -> OfficeTask | None:
    """Return what can be done with a prompt; None: nothing of this module."""
    if len(prompt) > MAX_TEXT:
        return None
    if found := TICKET.search(prompt):
        return _reply(found["ticket"], found["tone"], int(found["words"]))
    if found := NOTES.search(prompt):
        return _summary(found["notes"])
    if files := _files(prompt):
        question = prompt[: prompt.index("File: ")].strip()
        return _quotation(question, files)
    return None


def _files(prompt: str) -> list[tuple[str, str]]:
    """Return names and texts of the files in a prompt, each in a fence of its own."""
    lines = prompt.split("\n")
    files, at = [], 0
    while at + 1 < len(lines):
        head, fence = FILE_HEAD.fullmatch(lines[at]), lines[at + 1]
        at += 1
        if head is None or not FENCE.fullmatch(fence):
            continue
        if fence not in lines[at + 1 :]:
            break  # what is not closed reaches to the end
        end = lines.index(fence, at + 1)
        files.append((head["name"], "\n".join(lines[at + 1 : end])))
        at = end + 1
    return files


def _reply(ticket: str, tone: str, most: int) -> OfficeTask:
    wish = next((s for s in _sentences(ticket) if "?" in s), "")
    topic = wish or next(iter(_sentences(ticket)), ticket.strip())
    thanks = (
        "Thank you for your message."
        if "form" in tone.lower()
        else "Thanks a lot for getting in touch."
    )
    text = (
        f"Hello,\n\n{thanks} You wrote: “{_short(topic)}”\n\n"
        "We are looking into exactly that. **Next step:** a colleague checks it and "
        "writes to you with what was found.\n\nKind regards,\nSupport"
    )
    return OfficeTask("ticket", _within(text, most), ticket, most)


def _summary(notes: str) -> OfficeTask:
    lines = [_BULLET.sub("", each).strip() for each in _sentences(notes)]
    questions = [each for each in lines if each.endswith("?")]
    tasks = [each for each in lines if _TASK.match(each) and each not in questions]
    decisions = [
        each
        for each in lines
        if _DECISION.search(each) and each not in questions and each not in tasks
    ]
    parts = (
        ("Decisions", decisions),
        ("Open questions", questions),
        ("Who does what", tasks),
    )
    text = "\n\n".join(f"**{name}**\n\n{_listed(found)}" for name, found in parts)
    return OfficeTask("notes", text, notes)


def _quotation(question: str, files: Sequence[tuple[str, str]]) -> OfficeTask:
    wanted = _words(question) - _COMMON
    lines = [
        (len(wanted & _words(line)), _is_whole(line), -number, name, line)
        for name, text in files
        for number, line in _quotable(text)
    ]
    best = sorted((line for line in lines if line[0]), reverse=True)[:MAX_QUOTED]
    source = "\n".join(text for _, text in files)
    names = ", ".join(name for name, _ in files)
    if not best:
        first = next((line for *_, line in lines), "")
        text = (
            f"No line of {names} has a word of the question. The first one reads: "
            f"“{_short(first)}”"
        )
        return OfficeTask("files", text, source)
    rows = [
        f"- {name}, line {-number}: “{_short(line)}”" for *_, number, name, line in best
    ]
    head = f"**“{_short(best[0][-1])}”**\n\nWhat {names} says of it:\n\n"
    return OfficeTask("files", head + "\n".join(rows), source)


def _quotable(text: str) -> list[tuple[int, str]]:
    """Return the lines that say something, with their numbers.

    Marks between parts, headings, and the first row of a table say nothing alone; they
    are quoted where there is nothing else.
    """
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not MARKER.fullmatch(line.strip())
    ]
    telling = [
        (number, line)
        for place, (number, line) in enumerate(lines)
        if not line.startswith("#") and not _is_head(lines, place)
    ]
    return telling or lines


def _is_whole(line: str) -> bool:
    """Return whether a line is more than the title of what follows it."""
    return len(line.split()) > TITLE_WORDS or any(letter.isdigit() for letter in line)


def _is_head(lines: Sequence[tuple[int, str]], place: int) -> bool:
    """Return whether a line names the columns of the rows below it."""
    number, line = lines[place]
    if place + 1 == len(lines) or any(letter.isdigit() for letter in line):
        return False
    if place and lines[place - 1][0] == number - 1:
        return False
    end = next((end for end in CELL_ENDS if end in line), "")
    return bool(end) and lines[place + 1][1].count(end) == line.count(end)


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE.split(text) if each.strip()]


def _listed(found: Sequence[str]) -> str:
    return "\n".join(f"- “{each}”" for each in found) or "None in the notes."


def _words(text: str) -> frozenset[str]:
    return frozenset(each.casefold().rstrip("s") for each in _WORD.findall(text))


def _quoted(text: str) -> list[str]:
    """Return what stands between quotation marks, with one space for any."""
    found = re.findall(r"“([^“”]*)”", text)
    return [" ".join(each.removesuffix("…").split()) for each in found]


def _short(text: str, most: int = 160) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def _within(text: str, most: int) -> str:
    """Return a text cut to so many words."""
    pieces = re.findall(r"\S+\s*", text)
    return text if len(pieces) <= most else "".join(pieces[:most]).rstrip() + "…"
