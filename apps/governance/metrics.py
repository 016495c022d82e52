"""Metrics of retention."""

from __future__ import annotations

from apps.core.metrics import Counts

TEXTS_ERASED = Counts(
    "texts_erased", "Texts that were erased because their time was over."
)
"""Counted by the maintenance thread alone."""
