"""Errors of budgets."""

from __future__ import annotations

from apps.core.errors import ConductorError, InvalidInput


class BudgetExceeded(ConductorError):
    """A budget has not enough left; the message names it and when it resets."""

    code = "insufficient_quota"
    http_status = 429


class PriceMissing(InvalidInput):
    """A run under a budget would use a model without a price."""

    code = "price_missing"


class RateLimited(ConductorError):
    """The key or its team asks faster than it may."""

    code = "rate_limit_exceeded"
    http_status = 429
