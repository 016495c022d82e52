"""Cleaners of the values that services take.

A cleaner takes what a person or a program sent, returns what is stored, and raises
ValueError with a message for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apps.core.errors import InvalidFields
from apps.core.plain_text import is_plain

Cleaner = Callable[[Any], Any]


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


def clean_lines(value: Any, what: str, longest: int) -> str:
    """Return a text of any number of lines without space around it, maybe empty.

    Errors call it a `what`.
    """
    if not isinstance(value, str):
        raise ValueError(f"a {what} is text")
    text = value.replace("\r\n", "\n").strip()
    if len(text) > longest:
        raise ValueError(f"a {what} has at most {longest:,} characters")
    if not all(c.isprintable() or c in "\n\t" for c in text):
        raise ValueError(f"a {what} holds no control characters")
    return text


def clean_switch(value: Any) -> bool:
    """Return yes or no."""
    if not isinstance(value, bool):
        raise ValueError("it is either true or false")
    return value


def clean_items(value: Any) -> list[Any]:
    """Return the items of a list."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError("it is a list")
    return list(value)


def clean_choice(value: Any, known: Iterable[str], what: str) -> str:
    """Return one of the known words as plain text; errors call it a `what`."""
    choices = list(known)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"unknown {what} {value!r}; known are {', '.join(choices)}")
    # Plain text even if it was a member of an enumeration: an entry holds the word.
    return str(value)
