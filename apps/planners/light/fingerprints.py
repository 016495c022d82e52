"""Compares the models that workers were known by with those of now. Pure.

A fingerprint is a short text; see `apps/pools/model_fingerprints.py`. An empty one is
not known, and counts as the same model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

FORMER_SHARE = 0.1
"""What an answer of a former model counts, of one of the present model."""
NOT_KNOWN: Mapping[str, str] = MappingProxyType({})
"""Fingerprints, where no worker has one."""


def is_another_model(known: str, now: str) -> bool:
    """Say whether two fingerprints are of different models."""
    return bool(known and now and known != now)


def changed_workers(known: Mapping[str, str], now: Mapping[str, str]) -> frozenset[str]:
    """Return the workers whose fingerprint now is another one than that known."""
    return frozenset(
        name
        for name, former in known.items()
        if is_another_model(former, now.get(name, ""))
    )


def renamed_workers(known: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return the names now of workers that kept their model, by those that are gone.

    A new name that two could have had, or a model that two new names have, is no name
    of either: which of them it was is not known.
    """
    gone = Counter(model for name, model in known.items() if name not in now)
    fresh = Counter(model for name, model in now.items() if name not in known)
    new_names = {model: name for name, model in now.items() if name not in known}
    return {
        name: new_names[model]
        for name, model in known.items()
        if name not in now and model and gone[model] == fresh[model] == 1
    }
