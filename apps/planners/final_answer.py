"""Finds the final answer in what a model wrote.

The first of these that is there counts: the last `\\boxed{…}`, what stands after the
last "Answer:" or "####" of a line, the first text in bold, the last line. Models state
answers in the first two forms because prompts of public benchmarks ask for them.
"""

from __future__ import annotations

import re

BOXED = r"\boxed{"
MARKED = re.compile(
    r"^[ \t>*_#-]*(?:(?:the[ \t]+)?(?:final[ \t]+)?answer(?:[ \t]+is)?[ \t]*[:=]|"
    r"(?:the|so the)[ \t]+(?:final[ \t]+)?answer[ \t]+is\b|####)"
    r"[ \t*_]*(?P<answer>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
BOLD = re.compile(r"\*\*(?P<answer>[^*\n]+)\*\*")
SIGNATURE = re.compile(r"\n+— simulated worker \S+\s*$")
"""The line in which a simulated worker says who it is; no part of its answer."""


def final_answer(text: str) -> str:
    """Return the final answer in `text`, without emphasis; empty: there is no text."""
    written = SIGNATURE.sub("", text).strip()
    boxed = _boxed(written)
    if boxed is not None:
        return _plain(boxed)
    marked = list(MARKED.finditer(written))
    found = marked[-1] if marked else BOLD.search(written)
    if found is not None:
        return _plain(found["answer"])
    return _plain(written.rsplit("\n", 1)[-1])


def _boxed(text: str) -> str | None:
    """Return what the last complete `\\boxed{…}` holds; braces may be nested."""
    start = text.rfind(BOXED)
    while start >= 0:
        depth = 0
        for at in range(start + len(BOXED) - 1, len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                return text[start + len(BOXED) : at]
        start = text.rfind(BOXED, 0, start)
    return None


def _plain(answer: str) -> str:
    stripped = answer.strip().strip("*_`$ \t").strip()
    return stripped[:-1].rstrip() if stripped.endswith(".") else stripped


def is_same_answer(one: str, other: str) -> bool:
    """Say whether two texts end in the same final answer, case and spaces aside."""
    return _normal(one) == _normal(other)


def _normal(text: str) -> str:
    return " ".join(final_answer(text).casefold().split())
