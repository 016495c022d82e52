"""Kinds of prompts: each is one or more centres that prompts gather around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from apps.planners.light.text_features import WIDTH, Floats, text_features

Ints = npt.NDArray[np.int64]


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

    def __len__(self) -> int:
        return int(self.kinds.max()) + 1

    @cached_property
    def _half_squares(self) -> Floats:
        return np.asarray(0.5 * (self.centres**2).sum(axis=1))

    @cached_property
    def _lengths(self) -> Floats:
        return np.asarray(np.maximum(np.linalg.norm(self.centres, axis=1), 1e-9))

    def kind_of(self, prompt: str) -> int:
        """Return the kind of a prompt, from 0: that of the nearest centre."""
        return self.nearest(prompt)[0]

    def kinds_of(self, prompts: Sequence[str]) -> list[int]:
        """Return the kinds of many prompts."""
        return [self.kind_of(prompt) for prompt in prompts]

    def nearest(self, prompt: str) -> tuple[int, float]:
        """Return the kind of a prompt, and how like its centre it is: 0 to 1."""
        found = text_features(prompt)
        like = self.centres[:, found.places] @ found.values
        centre = int(np.argmax(like - self._half_squares))
        return int(self.kinds[centre]), float(like[centre] / self._lengths[centre])
