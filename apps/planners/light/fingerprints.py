"""Compares the models that workers were known by with those of now. Pure.

A fingerprint is a short text; see `apps/pools/model_fingerprints.py`. An empty one is
not known, and counts as the same model.
"""

from __future__ import annotations

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
