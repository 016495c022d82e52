"""Gathers prompts around centres: by n-grams, or by the vectors of an embedding worker.

By vectors, each centre also has one among n-grams, the mean of the same prompts: so a
planner that has no vector at hand falls back to n-grams within the same kinds.

Needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from apps.planners.light.kinds import EmbeddedCentres, Ints, Kinds
from apps.planners.light.text_features import Floats
from apps.training.fitting.kinds import (
    assigned_centres,
    labelled_centres,
    mean_rows,
    nearness_of,
    prompt_vectors,
)


@dataclass(frozen=True, slots=True)
class PromptEmbedding:
    """The vectors of prompts by one embedding worker."""

    worker: str
    model: str
    vectors: Mapping[str, Floats]
    """By prompt, of length 1 and the same width. Some prompts may have none."""


@dataclass(frozen=True, slots=True)
class _Embedded:
    """Centres among vectors, and the prompts that have vectors."""

    embedding: PromptEmbedding
    centres: Floats
    places: Ints
    """Of those prompts, among all."""
    vectors: Floats
    """One row for each of them."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Centres, and the prompts around them."""

    centres: Floats
    """Among n-grams."""
    vectors: csr_matrix
    """The n-grams of each prompt."""
    nearest: Ints
    """The centre of each prompt."""
    labels: Ints
    """The label of each centre."""
    embedded: _Embedded | None = None

    def kinds(self, of_centre: Ints, examples: tuple[str, ...]) -> Kinds:
        """Return the kinds; `of_centre` is the kind of each centre."""
        found = self.embedded
        if found is None:
            return Kinds(self.centres, of_centre, examples)
        nearest = self.nearest[found.places]
        centres = EmbeddedCentres(
            found.embedding.worker,
            found.embedding.model,
            found.centres,
            nearness_of(found.centres, of_centre, found.vectors, nearest),
        )
        return Kinds(self.centres, of_centre, examples, centres)

    def nearness(self, of_centre: Ints) -> Floats:
        """Return by kind how like nearly all its prompts are to it, by n-grams."""
        return nearness_of(self.centres, of_centre, self.vectors, self.nearest)


def gathered(
    prompts: Sequence[str],
    weights: Floats,
    labels: Ints,
    most: int,
    seed: int,
    embedding: PromptEmbedding | None,
) -> Gathered:
    """Return prompts around about `most` centres or fewer; see `found_centres`.

    A centre gathers prompts of one label alone. A prompt without a vector belongs to
    the centre of its label that is nearest by n-grams.
    """
    vectors = prompt_vectors(prompts)
    if embedding is None or not any(each in embedding.vectors for each in prompts):
        centres, of_centre = labelled_centres(
            prompts, vectors, weights, labels, most, seed
        )
        nearest = assigned_centres(centres, vectors, of_centre, labels)
        return Gathered(centres, vectors, nearest, of_centre)
    places = np.flatnonzero([each in embedding.vectors for each in prompts])
    some = [each for each in prompts if each in embedding.vectors]
    rows = np.stack([embedding.vectors[each] for each in some])
    own = labels[places]
    centres, of_centre = labelled_centres(some, rows, weights[places], own, most, seed)
    # A centre that is nearest to no prompt would have nothing among n-grams.
    used, of_some = np.unique(
        assigned_centres(centres, rows, of_centre, own), return_inverse=True
    )
    by_ngrams = mean_rows(vectors[places], weights[places], of_some, len(used))
    nearest = assigned_centres(by_ngrams, vectors, of_centre[used], labels)
    nearest[places] = of_some
    found = _Embedded(embedding, centres[used], places, rows)
    return Gathered(by_ngrams, vectors, nearest, of_centre[used], found)
