"""Kinds of prompts: the nearest of the centres that prompts gather around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.planners.light.text_features import (
    WIDTH,
    Floats,
    TextFeatures,
    text_features,
)


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """Centres of prompts as vectors, which were found without labels."""

    centres: Floats
    """One row for each kind, `WIDTH` columns."""
    examples: tuple[str, ...] = ()
    """Words that mark each kind, for people."""

    def __post_init__(self) -> None:
        if self.centres.ndim != 2 or self.centres.shape[1] != WIDTH:
            raise ValueError(
                f"centres: expected {WIDTH} columns, got {self.centres.shape}"
            )

    def __len__(self) -> int:
        return len(self.centres)

    def kind_of(self, prompt: str) -> int:
        """Return the kind of a prompt, from 0."""
        return self._nearest(text_features(prompt))

    def kinds_of(self, prompts: Sequence[str]) -> list[int]:
        """Return the kinds of many prompts."""
        return [self.kind_of(prompt) for prompt in prompts]

    def nearest(self, prompt: str) -> tuple[int, float]:
        """Return the kind of a prompt, and how like its centre it is: 0 to 1."""
        found = text_features(prompt)
        kind = self._nearest(found)
        centre = self.centres[kind]
        length = max(float(np.linalg.norm(centre)), 1e-9)
        return kind, float(centre[found.places] @ found.values) / length

    def _nearest(self, found: TextFeatures) -> int:
        near = self.centres[:, found.places] @ found.values
        return int(np.argmax(near - 0.5 * (self.centres**2).sum(axis=1)))
