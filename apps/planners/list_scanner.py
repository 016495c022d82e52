"""Finds the three lists of a plan in a model's free text, however they are written.

Reads Python and JSON notation and the usual slips: unescaped quotes, smart quotes, bare
words, comments, trailing commas. Nothing is evaluated. Work is bounded by the length of
the text: each pass is linear and the number of passes is capped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from apps.engine.errors import PlanFault, PlanRejected
from apps.planners.escaping import clean

Value: TypeAlias = "str | list[Value] | None"
"""An entry: text (numbers too, as they were written), a list, or nothing at all."""

LIST_NAMES = ("model_id", "subtasks", "access_list")
MAX_CHARS = 65_536
"""Longest reply that is read; a plan has a few thousand characters."""
MAX_NESTING = 4
"""Lists within lists. A plan needs two."""
MAX_FAILED_READS = 10
"""Names followed by something that is no list; each costs a pass over the text."""


@dataclass(frozen=True, slots=True)
class FoundLists:
    """What was read from a reply."""

    lists: Mapping[str, list[Value]]
    """One for each of LIST_NAMES."""
    reasoning: str
    """The text before the first list, `<think>` blocks removed."""


_MARK = re.compile(
    r"""
    (?P<tag> </?think(?:ing)?> )
  | (?<![A-Za-z0-9_])
    (?P<name> model\\?[_\ -]?ids? | sub[_-]?tasks? | access\\?[_\ -]?lists? )
    (?![A-Za-z0-9_])
    [\ \t"'`*“”]{0,4}
    (?: :\s{0,4} list (?: \[ [\w\[\],.|\ ]{0,40} \] )? )?         # a type annotation
    [\ \t]{0,8} (?: := | [:=] | \n ) \s{0,8}
    (?: ["'`*]{1,4} [a-z]{0,8} \s{1,8} )?                         # bold, or a fence
    (?= \[ )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CLOSING_TAG = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_NAME_BY_INITIAL = {name[0]: name for name in LIST_NAMES}


@dataclass(slots=True)
class _Scan:
    """What a pass over the text has seen so far."""

    found: dict[str, tuple[int, list[Value]]] = field(default_factory=dict)
    """Name to the list's position and entries; a later one replaces an earlier one."""
    hidden: list[tuple[int, int]] = field(default_factory=list)
    """Where the `<think>` blocks are."""
    failed_reads: int = 0


def find_lists(text: str) -> FoundLists:
    """Return the last list of each name, in or out of fences, quotes and JSON objects.

    Names inside a list's own strings or inside `<think>` blocks do not count.
    Raises: PlanRejected (unparseable).
    """
    if len(text) > MAX_CHARS:
        raise _unparseable(f"the answer is longer than {MAX_CHARS} characters")
    scan, position = _Scan(), 0
    while (mark := _MARK.search(text, position)) is not None:
        step = _pass_thinking if mark["tag"] else _pass_list
        position = step(text, mark, scan)
    missing = [name for name in LIST_NAMES if name not in scan.found]
    if missing:
        raise _unparseable(f"the answer has no readable list {' and '.join(missing)}")
    first = min(start for start, _ in scan.found.values())
    lists = {name: entries for name, (_, entries) in scan.found.items()}
    return FoundLists(lists, _reasoning(text, first, scan.hidden))


def _pass_thinking(text: str, mark: re.Match[str], scan: _Scan) -> int:
    if mark["tag"].startswith("</"):
        # The chat template opened the block: all the text so far was thinking.
        scan.found.clear()
        scan.hidden = [(0, mark.end())]
        return mark.end()
    closing = _CLOSING_TAG.search(text, mark.end())
    if closing is None:
        raise _unparseable("the answer ends inside a <think> block")
    scan.hidden.append((mark.start(), closing.end()))
    return closing.end()


def _pass_list(text: str, mark: re.Match[str], scan: _Scan) -> int:
    reading = read_list(text, mark.end())
    if reading is not None:
        entries, end = reading
        name = _NAME_BY_INITIAL[mark["name"][0].lower()]
        scan.found[name] = (mark.start(), entries)
        return end
    scan.failed_reads += 1
    if scan.failed_reads > MAX_FAILED_READS:
        raise _unparseable("the answer has too many broken lists")
    return mark.end()


def _reasoning(text: str, end: int, hidden: list[tuple[int, int]]) -> str:
    pieces, position = [], 0
    for start, stop in hidden:
        pieces.append(text[position : min(start, end)])
        position = stop
    pieces.append(text[position:end])
    lines = "".join(pieces).strip().splitlines()
    # What is left of the first list's own line or object: bullet, quote, fence, brace.
    while lines and lines[-1].strip("`*#->{\"' \t").lower() in ("", "python", "json"):
        lines.pop()
    return clean("\n".join(lines))


# --- one list ------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""
    (?P<space> \s+ | (?: \# | // ) [^\n]* )
  | (?P<open> \[ )
  | (?P<close> \] )
  | (?P<comma> , )
  | (?P<quote> \"{3} | '{3} | ["'“”„‘’] )
  | (?P<bare> [^\s,\[\]{}] (?: (?! \s (?: \# | // ) ) [^,\[\]\n] )* )
    """,
    re.VERBOSE,
)
_DOUBLE, _SINGLE = '"“”„', "'‘’"
_EXACT_QUOTES = {
    quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")
}
_LIKELY_QUOTES = {
    quote: re.compile(rf"\\.|[{family}](?=\s*(?:[,\]#]|//))", re.DOTALL)
    for family in (_DOUBLE, _SINGLE)
    for quote in family
}


def read_list(text: str, start: int) -> tuple[list[Value], int] | None:
    """Return the list that opens at `start` and where it ends, or None if none does.

    First a string ends at its next quote, as in Python and JSON. If that makes no list,
    it ends at the next quote that a comma or bracket follows: so apostrophes and inner
    quotes that should have been escaped do no harm.
    """
    return _read(text, start, _EXACT_QUOTES) or _read(text, start, _LIKELY_QUOTES)


@dataclass(slots=True)
class _Nest:
    """Lists under construction. A method that returns False found a syntax error."""

    open_lists: list[list[Value]] = field(default_factory=list)
    has_entry: bool = False
    """True between an entry and the next comma."""
    ends_in_string: bool = False

    def open(self) -> bool:
        if self.has_entry or len(self.open_lists) == MAX_NESTING:
            return False
        self.open_lists.append([])
        return True

    def close(self) -> list[Value] | None:
        """Close the innermost list; return it if it was the outermost too."""
        finished = self.open_lists.pop()
        if not self.open_lists:
            return finished
        self.open_lists[-1].append(finished)
        self.has_entry, self.ends_in_string = True, False
        return None

    def comma(self) -> bool:
        if not self.has_entry:
            self.open_lists[-1].append(None)
        self.has_entry = False
        return True

    def word(self, text: str) -> bool:
        if self.has_entry:
            return False
        is_nothing = text.lower() in ("none", "null")
        self.open_lists[-1].append(None if is_nothing else text)
        self.has_entry, self.ends_in_string = True, False
        return True

    def string(self, text: str) -> bool:
        entries = self.open_lists[-1]
        if not self.has_entry:
            entries.append(text)
        elif self.ends_in_string:
            # Python joins strings that stand side by side.
            entries[-1] = f"{entries[-1]}{text}"
        else:
            return False
        self.has_entry = self.ends_in_string = True
        return True


def _read(
    text: str, start: int, closing_quotes: Mapping[str, re.Pattern[str]]
) -> tuple[list[Value], int] | None:
    nest, position, is_sound = _Nest(), start, True
    while is_sound and (token := _TOKEN.match(text, position)) is not None:
        position = token.end()
        if token["close"]:
            finished = nest.close()
            if finished is not None:
                return finished, position
        elif token["open"]:
            is_sound = nest.open()
        elif token["comma"]:
            is_sound = nest.comma()
        elif token["bare"]:
            is_sound = nest.word(token["bare"].strip())
        elif token["quote"]:
            span = _closing_quote(text, position, closing_quotes.get(token["quote"]))
            is_sound = span is not None and nest.string(
                _unescape(text[position : span[0]])
            )
            position = span[1] if span is not None else position
    return None


def _closing_quote(
    text: str, start: int, pattern: re.Pattern[str] | None
) -> tuple[int, int] | None:
    if pattern is None:
        return None
    for match in pattern.finditer(text, start):
        if not match[0].startswith("\\"):
            return match.span()
    return None


# Formulae are full of single backslashes. So `\f`, `\b`, `\a`, `\v` stay as they are
# (\frac, \beta: nobody wants a form feed), and so do the common words on n, r and t.
_ESCAPE = re.compile(
    r"""
    \\ (?: (?P<code> x[0-9a-fA-F]{2}
                   | u[0-9a-fA-F]{4}
                   | U00 (?: 0[0-9a-fA-F] | 10 ) [0-9a-fA-F]{4} )
         | (?! (?: nabla | neq | rho | right | rangle | times | theta | text | textbf
                   | tau | tan )
               (?![a-z]) )
           (?P<char> [nrt"'\\/\n“”„‘’] ) )
    """,
    re.VERBOSE,
)
_MEANING = {"n": "\n", "r": "\r", "t": "\t", "\n": ""}


def _unescape(text: str) -> str:
    return clean(_ESCAPE.sub(_meaning, text)) if "\\" in text else clean(text)


def _meaning(escape: re.Match[str]) -> str:
    if escape["code"]:
        return chr(int(escape["code"][1:], 16))
    return _MEANING.get(escape["char"], escape["char"])


def _unparseable(message: str) -> PlanRejected:
    return PlanRejected(PlanFault.UNPARSEABLE, message)
