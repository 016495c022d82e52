"""Filters of the tables of this app that read as words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self, TypeVar

from django.db import models

from apps.core.scoping import TeamQuerySet

KEY_LIFETIME = timedelta(hours=24)
"""How long an idempotency key stands for its run."""
ModelT = TypeVar("ModelT", bound=models.Model)


class IdempotencyKeys(TeamQuerySet[ModelT]):
    """Idempotency keys."""

    def over(self, now: datetime) -> Self:
        """Keep those whose day is over."""
        return self.filter(claimed_at__lt=now - KEY_LIFETIME)
