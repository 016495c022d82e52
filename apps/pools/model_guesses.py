"""Guesses from the names of a provider's models, for people who set a team up.

What is guessed can be changed afterwards: a name, whether a model makes embeddings,
and which of several models plans best. Pure: reads names and list prices.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import count

from apps.pools.models import NAME_LENGTH
from apps.pools.prices.catalog_cache import price_book

UNNAMED = "model"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_EMBEDDING = re.compile(r"embed|(^|[/-])bge-|(^|[/-])e5-", re.IGNORECASE)
_PLANNER = re.compile(r"conductor|planner", re.IGNORECASE)
_SMALL = re.compile(r"mini|nano|lite|small|tiny|flash|haiku|instant", re.IGNORECASE)
_BILLIONS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)


def name_of_model(model: str, taken: Collection[str]) -> str:
    """Return a free name for a model: the last part of what its provider calls it."""
    last = model.rstrip("/").rpartition("/")[2]
    plain = _NOT_IN_NAMES.sub("-", last).strip("._-")[:NAME_LENGTH] or UNNAMED
    numbered = (_numbered(plain, number) for number in count(2))
    return plain if plain not in taken else next(n for n in numbered if n not in taken)


def only_plans(model: str) -> bool:
    """Say whether a model by its name was made to plan, not to answer."""
    return bool(_PLANNER.search(model))


def makes_embeddings(model: str) -> bool:
    """Say whether a model by its name makes embeddings instead of answers."""
    return bool(_EMBEDDING.search(model))


def planners_first(base_url: str, models: Sequence[str]) -> list[str]:
    """Return the models that can plan, the best suited one first.

    Those named as planners, then the dearest by list price, then the largest by name;
    of equals the first. Models that make embeddings are left out.
    """
    book = price_book()

    def suited(model: str) -> tuple[bool, int, bool, float]:
        listed = book.price(base_url, model)
        return (
            only_plans(model),
            listed.price.output_micros if listed else 0,
            not _SMALL.search(model),
            max(map(float, _BILLIONS.findall(model)), default=0.0),
        )

    answering = [each for each in models if not makes_embeddings(each)]
    return sorted(answering, key=suited, reverse=True)


def _numbered(name: str, number: int) -> str:
    suffix = f"-{number}"
    return f"{name[: NAME_LENGTH - len(suffix)]}{suffix}"
