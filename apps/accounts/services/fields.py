"""Cleaners of the fields of teams, invitations and API keys; see `core.validation`."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from apps.accounts.models import (
    MAX_REQUESTS_PER_MINUTE,
    MAX_TOKENS_PER_MINUTE,
    TIERS,
    Delivery,
    ProgressForm,
    Role,
    Scope,
)
from apps.core.data_classes import DATA_CLASSES
from apps.core.validation import clean_choice, clean_items, clean_text

NAME_LENGTH = 100
EMAIL_LENGTH = 254
WORKER_NAME_LENGTH = 64
MAX_WORKERS = 200
"""Names in one key's list of workers."""


def clean_name(value: Any) -> str:
    """Return a name without space around it."""
    return clean_text(value, "name", NAME_LENGTH)


def clean_email(value: Any) -> str:
    """Return an address in lower case."""
    email = clean_text(value, "address", EMAIL_LENGTH).lower()
    try:
        validate_email(email)
    except ValidationError:
        raise ValueError("this is not an email address") from None
    return email


def clean_role(value: Any) -> str:
    """Return the role as plain text."""
    return clean_choice(value, Role.values, "role")


def clean_scopes(value: Any) -> list[str]:
    """Return scopes in order, each once."""
    scopes = sorted(
        {clean_choice(scope, Scope.values, "scope") for scope in clean_items(value)}
    )
    if not scopes:
        raise ValueError("it needs at least one scope")
    return scopes


def clean_tiers(value: Any) -> list[str]:
    """Return tiers in their order, each once."""
    wanted = {clean_choice(tier, TIERS, "tier") for tier in clean_items(value)}
    return [tier for tier in TIERS if tier in wanted]


def clean_workers(value: Any) -> list[str]:
    """Return names of workers in order, each once; the workers need not exist yet."""
    names = {
        clean_text(name, "worker's name", WORKER_NAME_LENGTH)
        for name in clean_items(value)
    }
    if len(names) > MAX_WORKERS:
        raise ValueError(f"it takes at most {MAX_WORKERS} workers")
    return sorted(names)


def clean_delivery(value: Any) -> str:
    """Return a delivery; empty: as the tier says."""
    return (
        "" if value in (None, "") else clean_choice(value, Delivery.values, "delivery")
    )


def clean_data_class(value: Any) -> str:
    """Return a data class; empty: nothing is said of the prompts."""
    return (
        "" if value in (None, "") else clean_choice(value, DATA_CLASSES, "data class")
    )


def clean_progress(value: Any) -> str:
    """Return the form of progress; empty: as reasoning."""
    if value in (None, ""):
        return ""
    return clean_choice(value, ProgressForm.values, "form of progress")


def clean_requests_rate(value: Any) -> int | None:
    """Return requests per minute; None sets no limit."""
    return _rate(value, MAX_REQUESTS_PER_MINUTE)


def clean_tokens_rate(value: Any) -> int | None:
    """Return tokens per minute; None sets no limit."""
    return _rate(value, MAX_TOKENS_PER_MINUTE)


def _rate(value: Any, highest: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("it is a whole number, or empty for no limit")
    if not 1 <= value <= highest:
        raise ValueError(f"it lies between 1 and {highest:,}, or is empty for no limit")
    return value
