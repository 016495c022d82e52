"""Operations on a given word or sentence: reverse, count, sort, case, palindromes."""

from __future__ import annotations

import re
from collections.abc import Callable

from apps.simulator.families.solution import Claim, Family, Solution, solution

MAX_LENGTH = 2000
"""Characters of a text to work on."""
QUOTED = re.compile(
    r"[\"“«„`]([^\"“«„”»`]+)[\"”»“`]"
    r"|(?<!\w)['‘]((?:(?!\W['‘]).)+?)['’](?!\w)",
    re.DOTALL,
)
NAMED = re.compile(
    r"\b(?:word|letters|spell)\s+([A-Za-zÀ-ÿ]{2,})\b(?!\s+(?:of|in)\b)", re.IGNORECASE
)
LAST_WORD = re.compile(r"\bin\s+([A-Za-zÀ-ÿ]{2,})\W*$")
ONE_LETTER = re.compile(
    r"\b(?:letters?|times|many|often)\W+(?:does\s+)?(?:the\s+)?(?:letters?\s+)?['\"‘“]?([a-z])(?:['’]?s)?['\"’”]?\s+"
    r"(?:are|is|in|appears?|occurs?|does)\b",
    re.IGNORECASE,
)


def solve(text: str) -> Solution | None:
    """Return the solution of the operation `text` asks for, if it asks for one."""
    for pattern, operation in OPERATIONS:
        if re.search(pattern, text, re.IGNORECASE):
            target = find_target(text)
            if target and len(target) <= MAX_LENGTH:
                return operation(text, target)
    return None


def find_target(text: str) -> str | None:
    """Return the text to work on: quoted, after a colon, or "the word so-and-so"."""
    quoted = [a or b for a, b in QUOTED.findall(text)]
    longer = [part for part in quoted if len(part) > 1]
    if longer or quoted:
        return str((longer or quoted)[-1]).strip()
    if after_colon := text.partition(":")[2].strip():
        return after_colon
    for pattern in (NAMED, LAST_WORD):
        if match := pattern.search(text):
            return str(match[1]).strip()
    return None


def _solved(answer: str, working: str, *wrong: str) -> Solution:
    slips = tuple(Claim(text, "") for text in wrong)
    return solution(Family.TEXT, Claim(answer, working), slips)


def _reverse(_: str, target: str) -> Solution:
    back = target[::-1]
    swapped = back[1:2] + back[:1] + back[2:]
    return _solved(
        back, f"`{target}` read from the end.", swapped, back[:-1], back + back[-1]
    )


def _count(noun: str, number: int, working: str) -> Solution:
    def phrase(count: int) -> str:
        return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

    return _solved(
        phrase(number), working, phrase(number + 1), phrase(max(number - 1, 0))
    )


def _count_letters(text: str, target: str) -> Solution:
    if one := ONE_LETTER.search(text):
        letter = one[1].lower()
        places = [n for n, c in enumerate(target.lower(), 1) if c == letter]
        where = ", ".join(map(str, places)) or "none"
        return _count(
            "time", len(places), f"`{letter}` in `{target}`: positions {where}."
        )
    letters = [c for c in target if c.isalpha()]
    return _count(
        "letter", len(letters), f"Counted in `{target}`: {' '.join(letters[:60])}"
    )


def _count_words(_: str, target: str) -> Solution:
    words = target.split()
    shown = "\n".join(f"{n}. {word}" for n, word in enumerate(words[:40], 1))
    return _count("word", len(words), shown)


def _sort(_: str, target: str) -> Solution:
    separator = ", " if "," in target else " "
    parts = [
        p.strip() for p in re.split(r",|\band\b" if "," in target else r"\s+", target)
    ]
    words = sorted((p.strip(" .") for p in parts if p.strip(" .")), key=str.casefold)
    first_two_swapped = words[1::-1] + words[2:]
    return _solved(
        separator.join(words),
        f"{len(words)} words in alphabetical order.",
        separator.join(first_two_swapped),
        separator.join(words[:-1]),
    )


def _upper(_: str, target: str) -> Solution:
    return _solved(
        target.upper(), "Every letter in upper case.", target.title(), target
    )


def _lower(_: str, target: str) -> Solution:
    return _solved(
        target.lower(), "Every letter in lower case.", target.title(), target
    )


def _palindrome(_: str, target: str) -> Solution:
    letters = [c for c in target.casefold() if c.isalnum()]
    is_same = letters == letters[::-1]
    working = (
        f"Letters forwards `{''.join(letters)}`, backwards `{''.join(letters[::-1])}`."
    )
    return _solved("Yes" if is_same else "No", working, "No" if is_same else "Yes")


OPERATIONS: tuple[tuple[str, Callable[[str, str], Solution]], ...] = (
    (r"\bpalindrom", _palindrome),
    (r"\brevers(?:e|ed)\b|\bbackwards?\b|\bfrom its last letter", _reverse),
    (r"\b(?:how many|count|number of)\s+(?:the\s+)?words\b", _count_words),
    (r"\b(?:how many|count|number of)\b.*\b(?:letters?|characters?)\b", _count_letters),
    (r"\bhow (?:many times|often)\b.*\b(?:appears?|occurs?|is|does)\b", _count_letters),
    (r"\bhow many\s+['\"‘“]?[a-z](?:['’]?s)?['\"’”]?\s+(?:are|is)\b", _count_letters),
    (r"\b(?:sort|alphabetical)", _sort),
    (r"\b(?:upper ?case|capital letters|capitali[sz]e)\b", _upper),
    (r"\blower ?case\b", _lower),
)
