"""What may stand in the fields of teams, invitations and keys.

A cleaner takes what a person or program sent, returns what is stored, and raises
ValueError with a message for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from apps.core.errors import InvalidFields
from apps.core.plain_text import is_plain

Cleaner = Callable[[Any], Any]

NAME_LENGTH = 100
EMAIL_LENGTH = 254
WORKER_NAME_LENGTH = 64
MAX_WORKERS = 200
"""Names in one key's list of workers."""


def clean_fields(
    values: Mapping[str, Any], cleaners: Mapping[str, Cleaner]
) -> dict[str, Any]:
    """Return the values as they are stored.

    Raises: InvalidFields with every field that is wrong or unknown.
    """
    cleaned: dict[str, Any] = {}
    faults: dict[str, list[str]] = {}
    for field, value in values.items():
        cleaner = cleaners.get(field)
        if cleaner is None:
            faults[field] = ["this field is not known, or cannot be changed"]
            continue
        try:
            cleaned[field] = cleaner(value)
        except ValueError as exc:
            faults[field] = [str(exc)]
    if faults:
        raise InvalidFields(faults)
    return cleaned


def clean_name(value: Any) -> str:
    """Return a name without space around it."""
    return clean_text(value, "name", NAME_LENGTH)


def clean_email(value: Any) -> str:
    """Return an address in lower case."""
    email = clean_text(value, "address", EMAIL_LENGTH).lower()
    try:
        validate_email(email)
    except ValidationError:
        raise ValueError("this is not an e-mail address") from None
    return email


def clean_role(value: Any) -> str:
    """Return the role as plain text."""
    return _one_of(value, Role.values, "role")


def clean_scopes(value: Any) -> list[str]:
    """Return scopes in order, each once."""
    scopes = sorted({_one_of(scope, Scope.values, "scope") for scope in _items(value)})
    if not scopes:
        raise ValueError("it needs at least one scope")
    return scopes


def clean_tiers(value: Any) -> list[str]:
    """Return tiers in their order, each once."""
    wanted = {_one_of(tier, TIERS, "tier") for tier in _items(value)}
    return [tier for tier in TIERS if tier in wanted]


def clean_workers(value: Any) -> list[str]:
    """Return names of workers in order, each once; the workers need not exist yet."""
    names = {
        clean_text(name, "worker's name", WORKER_NAME_LENGTH) for name in _items(value)
    }
    if len(names) > MAX_WORKERS:
        raise ValueError(f"it takes at most {MAX_WORKERS} workers")
    return sorted(names)


def clean_switch(value: Any) -> bool:
    """Return yes or no."""
    if not isinstance(value, bool):
        raise ValueError("it is either true or false")
    return value


def clean_delivery(value: Any) -> str:
    """Return a delivery; empty: as the tier says."""
    return "" if value in (None, "") else _one_of(value, Delivery.values, "delivery")


def clean_progress(value: Any) -> str:
    """Return how progress is told; empty: as reasoning."""
    if value in (None, ""):
        return ""
    return _one_of(value, ProgressForm.values, "form of progress")


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


def clean_text(value: Any, what: str, longest: int) -> str:
    """Return a text without space around it; errors call it a `what`."""
    if not isinstance(value, str):
        raise ValueError(f"a {what} is text")
    text = value.strip()
    if not text:
        raise ValueError(f"it needs a {what}")
    if len(text) > longest:
        raise ValueError(f"a {what} has at most {longest} characters")
    if not is_plain(text):
        raise ValueError(
            f"a {what} holds no control characters, and none that turn the direction "
            f"of text around"
        )
    return text


def _items(value: Any) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError("it is a list")
    return list(value)


def _one_of(value: Any, known: Iterable[str], what: str) -> str:
    choices = list(known)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"unknown {what} {value!r}; known are {', '.join(choices)}")
    # Plain text even if it was a member of an enumeration: an entry holds the word.
    return str(value)
