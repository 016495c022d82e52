"""Tasks of earlier evaluations, to be found by their likeness to another one. Pure.

Likeness is the cosine of the words, weighted by how rare they are (TF-IDF); all numbers
count as one word, so that tasks of a kind are alike whatever their numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

WORD = re.compile(r"\d+|[^\W\d_]+", re.UNICODE)
NUMBER = "0"
Weights = Mapping[str, float]


class HasPrompt(Protocol):
    """What can be found by its prompt."""

    @property
    def prompt(self) -> str:
        """Return the text."""
        ...


TaskT = TypeVar("TaskT", bound=HasPrompt)


class TaskIndex(Generic[TaskT]):
    """Tasks, to be found by likeness. Pure."""

    def __init__(self, tasks: Sequence[TaskT]) -> None:
        self.tasks = tasks
        counts = [_counts(task.prompt) for task in tasks]
        seen = Counter(word for found in counts for word in found)
        self._rarity = {w: math.log(1 + len(tasks) / n) for w, n in seen.items()}
        self._places: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, found in enumerate(counts):
            for word, weight in self._weights(found).items():
                self._places[word].append((place, weight))

    def nearest(self, prompt: str, count: int) -> Sequence[TaskT]:
        """Return the tasks most alike, the nearest first; of equal ones the earlier.

        All of them if none is alike.
        """
        scores: dict[int, float] = defaultdict(float)
        for word, weight in self._weights(_counts(prompt)).items():
            for place, other in self._places.get(word, ()):
                scores[place] += weight * other
        found = sorted(scores, key=lambda place: (-scores[place], place))
        return [self.tasks[place] for place in found[:count]] or self.tasks

    def _weights(self, counts: Mapping[str, int]) -> Weights:
        """Return the weights of known words, of length 1 as a vector."""
        raw = {w: n * self._rarity[w] for w, n in counts.items() if w in self._rarity}
        length = math.sqrt(sum(weight * weight for weight in raw.values()))
        return {word: weight / length for word, weight in raw.items()} if length else {}


def _counts(prompt: str) -> Counter[str]:
    words = (word.group().lower() for word in WORD.finditer(prompt))
    return Counter(NUMBER if word[0].isdigit() else word for word in words)
