"""Where a light planner's knowledge is from, and how it reads prompts.

Imports nothing: pages read it too.
"""

from __future__ import annotations

from enum import StrEnum


class ModelSource(StrEnum):
    """What the weights of a model's steps were fitted on."""

    FITTED = "fitted"
    """Logged runs of the team."""
    SITE_DEFAULT = "site_default"
    """Simulated workers: of the team there are the profiles of its workers alone."""


class FeatureSort(StrEnum):
    """What gave the kind of a prompt."""

    EMBEDDING = "embedding"
    """The vector of an embedding worker."""
    NGRAMS = "ngrams"
    """Hashed n-grams of characters."""
