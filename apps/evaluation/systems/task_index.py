"""Measured tasks, to be found by their likeness to another one. Pure.

Likeness is the cosine of the words, weighted by how rare they are (TF-IDF); all numbers
count as one word, so that tasks of a kind are alike whatever their numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORD = re.compile(r"\d+|[^\W\d_]+", re.UNICODE)
NUMBER = "0"
Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MeasuredTask:
    """A task and what single workers did with it."""

    prompt: str
    outcomes: Mapping[str, tuple[bool, int]]
    """By worker: whether it was right, and its cost in micro-dollars."""


class TaskIndex:
    """Measured tasks, to be found by likeness. Pure."""

    def __init__(self, tasks: Sequence[MeasuredTask]) -> None:
        self._tasks = tasks
        counts = [_counts(task.prompt) for task in tasks]
        seen = Counter(word for found in counts for word in found)
        self._rarity = {w: math.log(1 + len(tasks) / n) for w, n in seen.items()}
        self._places: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, found in enumerate(counts):
            for word, weight in self._weights(found).items():
                self._places[word].append((place, weight))

    def nearest(self, prompt: str, count: int) -> list[MeasuredTask]:
        """Return the tasks most alike, the nearest first; of equal ones the earlier."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in self._weights(_counts(prompt)).items():
            for place, other in self._places.get(word, ()):
                scores[place] += weight * other
        found = sorted(scores, key=lambda place: (-scores[place], place))
        return [self._tasks[place] for place in found[:count]]

    def best_worker(self, prompt: str, count: int) -> str:
        """Return who was right most often on the nearest tasks; then who is cheaper.

        Raises: ValueError if nothing has been measured.
        """
        near = self.nearest(prompt, count) or list(self._tasks)
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for task in near:
            for worker, (is_right, cost) in task.outcomes.items():
                figures = sums[worker]
                figures[0] += is_right
                figures[1] += cost
                figures[2] += 1
        if not sums:
            raise ValueError("no worker has been measured")
        return min(
            sorted(sums),
            key=lambda w: (-sums[w][0] / sums[w][2], sums[w][1] / sums[w][2]),
        )

    def _weights(self, counts: Mapping[str, int]) -> Weights:
        """Return the weights of known words, of length 1 as a vector."""
        raw = {w: n * self._rarity[w] for w, n in counts.items() if w in self._rarity}
        length = math.sqrt(sum(weight * weight for weight in raw.values()))
        return {word: weight / length for word, weight in raw.items()} if length else {}


def _counts(prompt: str) -> Counter[str]:
    words = (word.group().lower() for word in WORD.finditer(prompt))
    return Counter(NUMBER if word[0].isdigit() else word for word in words)
