"""Kinds of prompts: each is one or more centres that prompts gather around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from apps.planners.light.text_features import WIDTH, Floats, text_features

Ints = npt.NDArray[np.int64]


class _Places:
    """Finds the nearest of some centres."""

    def __init__(self, centres: Floats) -> None:
        self._half_squares = 0.5 * (centres**2).sum(axis=1)
        self._lengths = np.maximum(np.linalg.norm(centres, axis=1), 1e-9)

    def nearest(self, like: Floats) -> tuple[int, float]:
        """Return the place of the nearest centre to a vector, and their cosine.

        `like` is the product of each centre with the vector, which has length 1.
        """
        place = int(np.argmax(like - self._half_squares))
        return place, float(like[place] / self._lengths[place])


@dataclass(frozen=True, eq=False)
class EmbeddedCentres:
    """Centres of prompts among the vectors of an embedding worker."""

    worker: str
    """Its name in the pool."""
    model: str
    """Its model at the time of the fit: another one's vectors mean something else."""
    centres: Floats
    """One row for each centre of the kinds, in the same order."""
    nearness: Floats
    """By kind: how like their centres nearly all prompts were that it was made of."""

    def __post_init__(self) -> None:
        if self.centres.ndim != 2 or not self.centres.shape[1]:
            raise ValueError(f"embedded: expected rows, got {self.centres.shape}")

    @property
    def width(self) -> int:
        """Return how many numbers a vector has."""
        return int(self.centres.shape[1])

    @cached_property
    def _places(self) -> _Places:
        return _Places(self.centres)

    def nearest(self, vector: Floats) -> tuple[int, float]:
        """Return the place of the nearest centre, and the cosine with it."""
        return self._places.nearest(self.centres @ vector)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Centres of prompts as vectors, which were found without labels.

    Not slotted: what depends on the centres alone is computed once.
    """

    centres: Floats
    """One row for each centre, `WIDTH` columns."""
    kinds: Ints
    """The kind of each centre, from 0."""
    examples: tuple[str, ...] = ()
    """Words that mark each kind, for people."""
    embedded: EmbeddedCentres | None = None
    """The same centres among the vectors of an embedding worker. None: the kinds were
    found by n-grams alone."""

    def __post_init__(self) -> None:
        if self.centres.ndim != 2 or self.centres.shape[1] != WIDTH:
            raise ValueError(
                f"centres: expected {WIDTH} columns, got {self.centres.shape}"
            )
        if self.kinds.shape != self.centres.shape[:1] or not len(self.kinds):
            raise ValueError(
                f"kinds: expected one for each of {len(self.centres)} centres, "
                f"got {self.kinds.shape}"
            )
        if set(self.kinds.tolist()) != set(range(len(self))):
            raise ValueError("kinds: expected numbers from 0 on, each used")
        if self.embedded is not None and len(self.embedded.centres) != len(self.kinds):
            raise ValueError(
                f"embedded: expected {len(self.kinds)} centres, "
                f"got {len(self.embedded.centres)}"
            )

    def __len__(self) -> int:
        return int(self.kinds.max()) + 1

    @cached_property
    def _places(self) -> _Places:
        return _Places(self.centres)

    def kind_of(self, prompt: str) -> int:
        """Return the kind of a prompt, from 0: that of the nearest centre."""
        return self.nearest(prompt)[0]

    def kinds_of(self, prompts: Sequence[str]) -> list[int]:
        """Return the kinds of many prompts."""
        return [self.kind_of(prompt) for prompt in prompts]

    def nearest(self, prompt: str) -> tuple[int, float]:
        """Return the kind of a prompt by n-grams, and its likeness to the centre.

        The likeness is a cosine, here from 0 to 1.
        """
        found = text_features(prompt)
        like = self.centres[:, found.places] @ found.values
        centre, likeness = self._places.nearest(like)
        return int(self.kinds[centre]), likeness

    def nearest_embedded(self, vector: Floats) -> tuple[int, float]:
        """Return the same by a vector of `embedded.width` numbers and length 1."""
        assert self.embedded is not None
        centre, likeness = self.embedded.nearest(vector)
        return int(self.kinds[centre]), likeness
