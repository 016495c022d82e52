"""By which features a prompt is placed: the vector of an embedding worker, or n-grams.

Pure numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.engine.vectors.prompt_vectors import PromptVector
from apps.planners.light.kinds import EmbeddedCentres
from apps.planners.light.sources import FeatureSort
from apps.planners.light.text_features import Floats

FLOAT_BYTES = 4
"""Of each number of a vector."""


@dataclass(frozen=True, eq=False, slots=True)
class PromptFeatures:
    """The features of one prompt beside its text."""

    vector: Floats | None = None
    """Of length 1. None: n-grams decide."""
    missing: str = ""
    """Why there is no vector, of a version that was fitted with embeddings."""

    def values(self, embedded: EmbeddedCentres | None) -> dict[str, Any] | None:
        """Return what an explanation says of them; None: there are n-grams alone."""
        if embedded is None:
            return None
        is_embedded = self.vector is not None
        return {
            "by": (FeatureSort.EMBEDDING if is_embedded else FeatureSort.NGRAMS).value,
            "worker": embedded.worker,
            "missing": self.missing,
        }


BY_NGRAMS = PromptFeatures()


def features_of(embedded: EmbeddedCentres, made: PromptVector) -> PromptFeatures:
    """Return the features of a prompt whose vector was made, or is missing."""
    if made.missing:
        return PromptFeatures(missing=made.missing)
    vector = unit_vector(made.values, embedded.width)
    if vector is None:
        return PromptFeatures(
            missing=f"{embedded.width} finite numbers, not all of them 0, were "
            f"expected, and it made {len(made.values) // FLOAT_BYTES}"
        )
    return PromptFeatures(vector)


def unit_vector(values: bytes, width: int) -> Floats | None:
    """Return a vector of length 1 with the direction of 32-bit numbers.

    None: it has another width, or no direction.
    """
    if len(values) != FLOAT_BYTES * width:
        return None
    vector = np.frombuffer(values, "<f4").astype(np.float64)
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or not length:
        return None
    return np.asarray(vector / length)
