"""The row with the list of prices that was fetched last."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class PriceList(models.Model):
    """The list of providers' prices that was fetched last: one row for the site."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(
        primary_key=True, default=ONLY, editable=False
    )
    document = models.BinaryField()
    """The list as it came, compressed (zlib)."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the list, by which a process knows whether it has it."""
    source = models.CharField(max_length=64)
    """SHA-256 of its address, which may hold a secret."""
    etag = models.CharField(max_length=200, blank=True)
    fetched_at = models.DateTimeField()
    """When this list came first."""
    checked_at = models.DateTimeField()
    """When its server last said, in one way or another, that there is no newer one."""

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_price_list")]

    def __str__(self) -> str:
        return f"prices of {self.fetched_at:%Y-%m-%d}"
