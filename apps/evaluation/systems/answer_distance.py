"""How far two answers are apart, by the words of their final answers. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter

from apps.planners.final_answer import final_answer, is_same_answer

WORD = re.compile(r"[^\W_]+", re.UNICODE)


def answer_distance(one: str, other: str) -> float:
    """Return the squared distance of the answers' words as vectors of length 1.

    From 0, the same words or the same final answer, to 2, no word in common.
    """
    if is_same_answer(one, other):
        return 0.0
    first, second = _counts(one), _counts(other)
    length = math.sqrt(_product(first, first) * _product(second, second))
    return 2 - 2 * _product(first, second) / length if length else 2.0


def _counts(text: str) -> Counter[str]:
    return Counter(WORD.findall(final_answer(text).casefold()))


def _product(one: Counter[str], other: Counter[str]) -> int:
    return sum(count * other[word] for word, count in one.items())
