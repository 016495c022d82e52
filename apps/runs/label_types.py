"""Labels of runs, and how much of them there may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

METADATA_NAME_LENGTH = 64
METADATA_VALUE_LENGTH = 512
MOST_METADATA = 16
"""Pairs of one run. The bounds are those of OpenAI's API."""


class Label(NamedTuple):
    """A tag, or a pair of metadata."""

    name: str
    """Empty: it is a tag."""
    value: str


@dataclass(frozen=True, slots=True)
class RunLabels:
    """What a run is labelled with."""

    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    """As its request had them."""
