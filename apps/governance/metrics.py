"""Metrics of retention."""

from __future__ import annotations

from apps.core.metrics import Counts

TEXTS_ERASED = Counts("texts_erased", "Bodies erased after their retention period.")
"""Counted by the maintenance thread alone."""
