"""Finds the final answer in what a model wrote.

The first of these that is there counts: the last `\\boxed{…}`, what stands after the
last "Answer:" or "####" of a line, the first text in bold, the last line. Models state
answers in the first two forms because prompts of public benchmarks ask for them.
"""

from __future__ import annotations

import re

BOXED = re.compile(r"\\boxed\{|[{}]")
MARKED = re.compile(
    r"^[ \t>*_#-]*(?:(?:the[ \t]+)?(?:final[ \t]+)?answer(?:[ \t]+is)?[ \t]*[:=]|"
    r"(?:the|so the)[ \t]+(?:final[ \t]+)?answer[ \t]+is\b|####)"
    r"[ \t*_]*(?P<answer>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
BOLD = re.compile(r"\*\*(?P<answer>[^*\n]+)\*\*")
_SIGNATURE = re.compile(r"\n— simulated worker \S++\s*+\Z")
"""The line in which a simulated worker says who it is; no part of its answer."""


def final_answer(text: str) -> str:
    """Return the final answer in `text`, without emphasis; empty: there is no text."""
    written = without_signature(text).strip()
    boxed = _boxed(written)
    if boxed is not None:
        return _plain(boxed)
    marked = list(MARKED.finditer(written))
    found = marked[-1] if marked else BOLD.search(written)
    if found is not None:
        return _plain(found["answer"])
    return _plain(written.rsplit("\n", 1)[-1])


def without_signature(text: str) -> str:
    """Return `text` without the signature of a simulated worker."""
    found = _SIGNATURE.search(text)
    return text if found is None else text[: found.start()].rstrip("\n")


def _boxed(text: str) -> str | None:
    """Return what the last complete `\\boxed{…}` holds; braces may be nested."""
    last: tuple[int, int] | None = None
    open_braces: list[tuple[int, bool]] = []
    for found in BOXED.finditer(text):
        if found[0] != "}":
            open_braces.append((found.end(), found[0] != "{"))
        elif open_braces:
            start, is_boxed = open_braces.pop()
            if is_boxed and (last is None or start > last[0]):
                last = start, found.start()
    return None if last is None else text[last[0] : last[1]]


def _plain(answer: str) -> str:
    stripped = answer.strip().strip("*_`$ \t").strip()
    return stripped[:-1].rstrip() if stripped.endswith(".") else stripped


def is_same_answer(one: str, other: str) -> bool:
    """Say whether two texts end in the same final answer, case and spaces aside."""
    return _normal(one) == _normal(other)


def _normal(text: str) -> str:
    return " ".join(final_answer(text).casefold().split())
