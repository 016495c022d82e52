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
_SMALL = re.compile(
    r"(?<!ge)mini|nano|lite|small|tiny|flash|haiku|instant|fast", re.IGNORECASE
)
_LARGE_MAKER = re.compile(r"(?:openai|anthropic|google)/")
"""At a router, versions of one maker cannot be compared with those of another."""
_SPECIAL = re.compile(
    r"audio|realtime|transcribe|tts|speech|voice|voxtral|whisper|sonic|live|image"
    r"|video|sora|dall-e|ocr|guard|moderation|search|research|computer-use|codex"
    r"|rerank|cyber|:free|:batch|(?:gpt-[\d.]+|o\d)-pro",
    re.IGNORECASE,
)
"""Made for something else than to answer prompts, or not for everybody's use."""
_VERSION = re.compile(r"(?<!\d)(\d{1,2})(?:[.p-](\d{1,2}))?(?![\d.]|[bk]\b|x\d)")
"""Of a family, such as the 5.5 of `gpt-5.5`; no day, no size and no context."""
RECOMMENDED = 3
"""So many of a provider's models are recommended: to plan and to work on the steps."""
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

    Those named as planners, then large ones of the newest version (at a router, those
    of the large makers first), then the dearest by list price, then the largest by
    name; of equals the first. Models that make embeddings are left out, and those made
    for something else come last.
    """
    book = price_book()

    def suited(
        model: str,
    ) -> tuple[bool, bool, bool, bool, tuple[int, int], int, float]:
        listed = book.price(base_url, model)
        return (
            only_plans(model),
            not _SPECIAL.search(model),
            not _SMALL.search(model),
            bool(_LARGE_MAKER.match(model)),
            _version(model),
            listed.price.output_micros if listed else 0,
            max(map(float, _BILLIONS.findall(model)), default=0.0),
        )

    answering = [each for each in models if not makes_embeddings(each)]
    return sorted(answering, key=suited, reverse=True)


def recommended_models(base_url: str, models: Sequence[str]) -> list[str]:
    """Return the models of a provider to begin with: the best, one that only plans."""
    ranked = planners_first(base_url, models)
    answering = (each for each in ranked if not only_plans(each))
    return list(dict.fromkeys((*ranked[:1], *answering)))[:RECOMMENDED]


def _version(model: str) -> tuple[int, int]:
    match = _VERSION.search(model.rpartition("/")[2])
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _numbered(name: str, number: int) -> str:
    suffix = f"-{number}"
    return f"{name[: NAME_LENGTH - len(suffix)]}{suffix}"
