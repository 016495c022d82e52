"""Which words a fit has seen, and how many words of a prompt are usually among them.

Parts of words tell kinds of tasks apart, but any English question shares many of them
with any other. A question about something else has other words. Pure.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from apps.planners.light.text_features import shortened

OFTEN = 2
"""Prompts that a word must be in to be kept: what one prompt alone had is not."""
FOLDS = 5
LEAST_PROMPTS = 20
"""Different prompts without which nothing can be said of others."""
MOST_WORDS = 50_000
NEARLY_ALL = 0.05
"""Share of prompts that may have fewer familiar words than `FamiliarWords.usual`."""
_WORD = re.compile(r"[^\W\d_]+|\d+")
_NUMBER = "0"

Hashes = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class FamiliarWords:
    """Words of logged prompts, as hashes.

    Not slotted: the set of them is made once.
    """

    hashes: Hashes
    usual: float
    """Share of its words, from 0 to 1, that nearly every new prompt of the same sort
    has among those of the others."""

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(self.hashes.tolist())

    def likeness(self, prompt: str) -> float:
        """Return how many words of a prompt are familiar.

        1: as large a share as of nearly all prompts of the sort that was logged.
        """
        if not self.usual:
            return 1.0
        return _share(_hashes(prompt), self._known) / self.usual


def familiar_words(prompts: Sequence[str]) -> FamiliarWords | None:
    """Return the words of prompts; None: there are too few different prompts.

    What is usual is found on each fifth of the prompts, by the words of the others.
    """
    distinct = [_hashes(prompt) for prompt in dict.fromkeys(prompts)]
    if len(distinct) < LEAST_PROMPTS:
        return None
    counts = Counter(word for words in distinct for word in words)
    shares = []
    for fold in range(FOLDS):
        held_out = distinct[fold::FOLDS]
        own = Counter(word for words in held_out for word in words)
        others = _kept({word: counts[word] - own[word] for word in counts})
        shares += [_share(words, others) for words in held_out]
    kept = np.array(sorted(_kept(counts)), np.uint32)
    return FamiliarWords(kept, float(np.quantile(shares, NEARLY_ALL)))


def _kept(counts: Mapping[int, int]) -> frozenset[int]:
    often = [word for word, count in counts.items() if count >= OFTEN]
    return frozenset(sorted(often, key=lambda word: (-counts[word], word))[:MOST_WORDS])


def _share(words: frozenset[int], known: frozenset[int]) -> float:
    return len(words & known) / len(words) if words else 0.0


def _hashes(prompt: str) -> frozenset[int]:
    words = set(_WORD.findall(shortened(prompt).lower()))
    return frozenset(
        zlib.crc32((_NUMBER if word[0].isdecimal() else word).encode())
        for word in words
    )
